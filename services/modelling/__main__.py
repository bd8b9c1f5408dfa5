"""`python -m services.modelling`."""

from services.modelling.main import main

main()
