import builtins
import io
import sys
import types
import unittest

from codecell_kernel.worker import displays, figures
from codecell_kernel.worker.interpreter import Interpreter

from .test_interpreter import drive


class FakeFigure:
    dpi, texts, lines, images = 100, (), (), ()

    def __init__(self, look=b"PNG", has_data=True):
        self.look = look
        self.axes = [types.SimpleNamespace(has_data=lambda: has_data)]

    def get_size_inches(self):
        return Inches()

    def savefig(self, buffer, dpi=100, **_):
        if self.look is None:
            raise ValueError("this figure cannot be drawn")
        buffer.write(self.look[: len(self.look) * dpi * dpi // 10_000])


class Inches:
    def __mul__(self, dpi):
        return 6 * dpi, 4 * dpi


class FakePyplot:
    def __init__(self):
        self.open = {}

    def plot(self, look=b"PNG", has_data=True):
        figure = FakeFigure(look, has_data)
        self.open[len(self.open) + 1] = figure
        return figure

    def get_fignums(self):
        return list(self.open)

    def figure(self, number):
        return self.open[number]

    def close(self, figure):
        self.open = {number: one for number, one in self.open.items() if figure != "all" and one is not figure}

    def show(self):
        figures.show()


class Figures(unittest.TestCase):
    def setUp(self):
        self.shown = []
        self.addCleanup(vars(builtins).update, dict(vars(builtins)))
        emit = lambda header, body: self.shown.append((header["display"], header["mime"], bytes(body)))  # noqa: E731
        self.interpreter = Interpreter(emit, None)
        fakes = {
            "matplotlib": types.SimpleNamespace(rcParams={"savefig.dpi": "figure"}),
            "matplotlib.pyplot": FakePyplot(),
            "matplotlib.figure": types.SimpleNamespace(Figure=FakeFigure),
        }
        for name, fake in fakes.items():
            sys.modules[name] = fake
            self.addCleanup(sys.modules.pop, name)
        self.pyplot = self.interpreter.namespace["plt"] = fakes["matplotlib.pyplot"]

    def run_code(self, code):
        """How the run ended, and the bytes of its pictures."""
        self.shown.clear()
        done = drive(self.interpreter.execute(1, code))
        return done["status"], [body for _, mime, body in self.shown if mime == "image/png"]

    def test_figures_are_shown_one_by_one_from_the_first_run_on(self):
        for _ in range(2):
            self.pyplot.plot(b"PNG %d" % len(self.shown))
            figures.show()
        text = b"<Figure size 600x400 with 1 Axes>"
        expected = [(1, "text/plain", text), (1, "image/png", b"PNG 0"), (2, "text/plain", text), (2, "image/png", b"PNG 2")]
        self.assertEqual(self.shown, expected)

    def test_a_figure_of_a_failed_run_is_shown_with_that_run_and_never_later(self):
        self.assertEqual(self.run_code("plt.plot(b'first')\n1 / 0"), ("error", [b"first"]))
        self.assertEqual(self.run_code("plt.plot(b'half', has_data=False)\n1 / 0"), ("error", []))
        self.assertEqual(self.run_code("plt.plot(b'stopped')\nraise KeyboardInterrupt"), ("interrupted", []))
        self.assertEqual(self.run_code("plt.plot(b'exited')\nraise SystemExit"), ("ok", [b"exited"]))
        self.assertEqual(self.run_code("plt.plot(b'last') and None"), ("ok", [b"last"]))

    def test_a_figure_that_cannot_be_drawn_fails_one_run(self):
        for code in ("plt.plot(None)\nplt.show()", "plt.plot(None) and None"):
            self.assertEqual(self.run_code(code), ("error", []))
            self.assertEqual(self.run_code("1"), ("ok", []))

    def test_the_last_value_is_not_shown_a_second_time(self):
        for code in (
            "plt.plot()",
            "figure = plt.plot()\nplt.show()\nfigure",
            "figure = plt.plot()\ndisplay(figure)",
            "figure = plt.plot()\ndisplay(figure)\nfigure",
        ):
            with self.subTest(code):
                self.assertEqual(self.run_code(code), ("ok", [b"PNG"]))

    def test_a_figure_that_has_changed_is_shown_again(self):
        code = "figure = plt.plot(b'before')\nplt.show()\nfigure.look = b'after'\nfigure"
        self.assertEqual(self.run_code(code), ("ok", [b"before", b"after"]))
        self.assertEqual(self.run_code("figure"), ("ok", [b"after"]))

    def test_a_figure_too_large_for_a_reply_also_has_a_smaller_form(self):
        self.run_code("plt.plot(bytes(800_000)) and None")
        sizes = {"image/png": 0, displays.PREVIEW: 0}
        for display, mime, piece in self.shown[1:]:
            sizes[mime] += len(piece)
            self.assertEqual(display, 1)
        self.assertEqual(sizes["image/png"], 800_000)
        self.assertTrue(100_000 < sizes[displays.PREVIEW] <= displays.MAX_PICTURE_BYTES, sizes)


class Pictures(unittest.TestCase):
    def test_a_picture_too_large_for_a_reply_is_scaled_by_pillow(self):
        class Picture:
            mode, width, height = "P", 2000, 1000

            def convert(self, mode):
                self.mode = mode
                return self

            def resize(self, size, _):
                self.width, self.height = size
                return self

            def save(self, buffer, _):
                buffer.write(bytes(self.width * self.height))

        image = types.SimpleNamespace(open=lambda _: Picture(), LANCZOS=1)
        sys.modules["PIL"] = types.SimpleNamespace(Image=image)
        self.addCleanup(sys.modules.pop, "PIL")
        self.assertTrue(100_000 < len(displays.smaller_picture(None, bytes(2_000_000))) <= displays.MAX_PICTURE_BYTES)
        image.open = lambda _: io.BytesIO()  # not a picture
        self.assertIsNone(displays.smaller_picture(None, bytes(2_000_000)))


if __name__ == "__main__":
    unittest.main()
