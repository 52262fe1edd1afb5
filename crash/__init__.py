"""The long crash loop: a real server under load, killed again and again, and a ledger of what it had acknowledged."""
