"""`python -m services.placement`."""

from services.placement.main import main

main()
