"""A matplotlib backend: open figures become PNG displays at `show()` and at the end of a run."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import sys

from . import displays

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas  # noqa: F401
    from matplotlib.backend_bases import FigureManagerBase as FigureManager  # noqa: F401
except ImportError:
    FigureCanvas = FigureManager = None


def show(*_, **__):
    """plt.show(): displays the open figures in order and closes them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or displays.current is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        if figure.axes or figure.texts or figure.lines or figure.images:
            displays.current.send({"text/plain": text_of(figure), "image/png": png(figure)})
        pyplot.close(figure)


def flush():
    """Called after every run. Takes one dictionary lookup if matplotlib is not in use."""
    if "matplotlib.pyplot" in sys.modules:
        show()


def is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def png(figure):
    import io

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def text_of(figure):
    width, height = figure.get_size_inches() * figure.dpi
    return ("<Figure size %dx%d with %d Axes>" % (width, height, len(figure.axes))).encode()
