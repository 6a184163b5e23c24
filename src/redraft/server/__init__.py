"""`redraft serve`: one loaded model for editors and programs, over HTTP.

`child` hosts the session in a process of its own, `wire` is what crosses the pipe, `supervisor`
keeps that process running, `service` brings HTTP requests and runs together, and each dialect
(`llamacpp`, `openai`, `ollama`, `edits`) turns bodies into requests and results into replies. What
an output is, the session alone decides.
"""
