"""`python -m services.demo`."""

from services.demo.main import main

main()
