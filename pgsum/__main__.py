"""`python -m pgsum` is the command `pgsum`."""

from pgsum.cli.main import main

if __name__ == "__main__":
    main()
