"""Where patchkit's own data lies: package data of an installed wheel, or the folders of a checkout."""

from __future__ import annotations

from pathlib import Path

from patchkit.errors import InputError

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent


def templates_dir() -> Path:
    """Return the folder of Jinja templates.

    Raises:
        InputError: the installation is incomplete.
    """
    return _data_folder("templates")


def recipes_dir() -> Path:
    """Return the folder of recipes, one TOML file each.

    Raises:
        InputError: the installation is incomplete.
    """
    return _data_folder("patches")


def reproducers_dir() -> Path:
    """Return the folder of the regression suite that runs against an installed torch.

    Raises:
        InputError: the installation is incomplete.
    """
    return _data_folder("reproducers", in_checkout="tests/reproducers")


def _data_folder(name: str, in_checkout: str = "") -> Path:
    installed = _PACKAGE / "data" / name
    if installed.is_dir():
        return installed
    # An editable install has no data/ in the package: the same folders lie at the top of the checkout,
    # which only patchkit's own pyproject.toml proves it to be.
    checkout = _CHECKOUT / (in_checkout or name)
    if checkout.is_dir() and (_CHECKOUT / "pyproject.toml").is_file():
        return checkout
    raise InputError(f"patchkit's own {name} folder is missing from {_PACKAGE}; install patchkit again.")
