"""``python -m procexec``."""

from procexec.cli import main

if __name__ == "__main__":
    main()
