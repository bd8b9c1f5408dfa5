"""`python -m services.host`."""

from services.host.main import main

main()
