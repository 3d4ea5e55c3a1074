"""What clients, sessions and runs do, written once for the blocking and the asyncio API."""
