import sys
import unittest

from codecell_kernel.worker import displays, figures


class FakeFigure:
    axes, dpi = ["one"], 100

    def get_size_inches(self):
        return Inches()

    def savefig(self, buffer, **_):
        buffer.write(b"PNG")


class Inches:
    def __mul__(self, dpi):
        return 6 * dpi, 4 * dpi


class FakePyplot:
    def __init__(self):
        self.open = {}

    def plot(self):
        self.open.setdefault(1, FakeFigure())

    def get_fignums(self):
        return list(self.open)

    def figure(self, number):
        return self.open[number]

    def close(self, figure):
        self.open = {number: one for number, one in self.open.items() if one is not figure}


class Figures(unittest.TestCase):
    def test_figures_are_shown_one_by_one_from_the_first_run_on(self):
        shown = []
        displays.Displays(lambda header, body: shown.append((header["display"], header["mime"], bytes(body))))
        pyplot = sys.modules["matplotlib.pyplot"] = FakePyplot()
        self.addCleanup(sys.modules.pop, "matplotlib.pyplot")
        for _ in range(2):
            pyplot.plot()
            figures.show()
        text = b"<Figure size 600x400 with 1 Axes>"
        expected = [(number, *form) for number in (1, 2) for form in (("text/plain", text), ("image/png", b"PNG"))]
        self.assertEqual(shown, expected)


if __name__ == "__main__":
    unittest.main()
