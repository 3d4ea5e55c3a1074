"""A matplotlib backend: open figures become PNG displays at `show()` and at the end of a run."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import sys

from . import displays

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas  # noqa: F401
    from matplotlib.backend_bases import FigureManagerBase as FigureManager  # noqa: F401
except ImportError:
    FigureCanvas = FigureManager = None

LEAST_DPI = 20


def show(*_, **__):
    """plt.show(): displays the open figures in order and closes them."""
    show_open(is_drawn)


def show_open(is_wanted):
    """Displays the open figures that are wanted, closes all of them, and returns what was displayed."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or displays.current is None:
        return ()
    shown = []
    try:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if is_wanted(figure):
                displays.current.show_figure(text_of(figure), png(figure), figure)
                shown.append(figure)
            pyplot.close(figure)
    finally:
        pyplot.close("all")  # a figure that cannot be drawn would fail in every later run
    return shown


def flush():
    """Called after every run. Takes one dictionary lookup if matplotlib is not in use."""
    return show_open(is_drawn) if "matplotlib.pyplot" in sys.modules else ()


def flush_failed(is_stopped):
    """Called after a run that failed: what it has drawn belongs to this run. One that was stopped has no time to draw."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    if is_stopped:
        pyplot.close("all")
    else:
        show_open(has_data)


def is_drawn(figure):
    return bool(figure.axes or figure.texts or figure.lines or figure.images)


def has_data(figure):
    """Whether it shows more than empty axes, which is what a plot that failed leaves behind."""
    return any(axes.has_data() for axes in figure.axes) or bool(figure.texts or figure.lines or figure.images)


def is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def png(figure, dpi=None):
    import io

    buffer = io.BytesIO()
    options = {} if dpi is None else {"dpi": dpi}
    figure.savefig(buffer, format="png", bbox_inches="tight", **options)
    return buffer.getvalue()


def smaller_png(figure, size):
    """The figure with fewer dots per inch, small enough for a reply. None if even a coarse one is not."""
    dpi = saved_dpi(figure)
    for _ in range(displays.TRIES):
        dpi = int(dpi * displays.scale_to_fit(size))
        if dpi < LEAST_DPI:
            return None
        data = png(figure, dpi)
        size = len(data)
        if size <= displays.MAX_PICTURE_BYTES:
            return data
    return None


def saved_dpi(figure):
    """What `savefig` uses: the setting `savefig.dpi`, which may be the word `figure`."""
    dpi = sys.modules["matplotlib"].rcParams["savefig.dpi"]
    return figure.dpi if dpi == "figure" else dpi


def text_of(figure):
    width, height = figure.get_size_inches() * figure.dpi
    return ("<Figure size %dx%d with %d Axes>" % (width, height, len(figure.axes))).encode()
