"""Counters for Prometheus, under the names of llama.cpp's server where it has one, so that its
dashboards fit; what it lacks is named `redraft:…`. It does not know where events come from.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.metrics import disable_created_metrics

from redraft.results import Result

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, which says when it was made
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        llama = self._llama
        self._prompt = llama("prompt_tokens_total", "Prompt tokens evaluated")
        self._cached = llama("prompt_tokens_cached_total", "Prompt tokens found in the cache")
        self._prompt_seconds = llama("prompt_seconds_total", "Time spent on prompts")
        self._predicted = llama("tokens_predicted_total", "Tokens generated")
        self._predicted_seconds = llama("tokens_predicted_seconds_total", "Time spent generating")
        self._forwards = llama("n_decode_total", "Forwards of the target model after the prompt")
        self._drafted = llama("spec_decode_num_draft_tokens_total", "Tokens drafted")
        self._accepted = llama("spec_decode_num_accepted_tokens_total", "Drafted tokens accepted")
        self._drafts = llama("spec_decode_num_drafts_total", "Forwards that verified a draft")
        self._longest = Gauge(
            "llamacpp:n_tokens_max", "Longest prompt and output", registry=self._registry
        )
        self._most = 0
        prompt_speed = self._gauge("prompt_tokens_seconds", "Prompt tokens a second")
        self._prompt_speed = _Speed(prompt_speed)
        predicted_speed = self._gauge("predicted_tokens_seconds", "Generated tokens a second")
        self._predicted_speed = _Speed(predicted_speed)
        self.processing = self._gauge("requests_processing", "Requests under way")
        self.deferred = self._gauge("requests_deferred", "Requests that wait for a slot")
        self._requests = Counter(
            "redraft:requests_total", "Replies by status", ["status"], registry=self._registry
        )
        self._cancelled = Counter(
            "redraft:requests_cancelled_total",
            "Runs that ended before their end, by why",
            ["reason"],
            registry=self._registry,
        )
        self._starts = Gauge(
            "redraft:engine_starts", "Starts of the engine's process", registry=self._registry
        )

    def replied(self, status: int) -> None:
        """A reply has begun."""
        self._requests.labels(str(status)).inc()

    def ran(self, result: Result, evaluated: int, drafts: int) -> None:
        """A run has ended, in which so many prompt tokens were evaluated and so many forwards
        verified a draft."""
        self._drafts.inc(drafts)
        count = result.statistics
        self._prompt.inc(evaluated)
        self._cached.inc(count.reused_tokens)
        self._prompt_seconds.inc(count.prefill_seconds)
        self._predicted.inc(count.output_tokens)
        self._predicted_seconds.inc(count.decode_seconds)
        self._forwards.inc(count.forwards)
        self._drafted.inc(count.proposed)
        self._accepted.inc(count.accepted)
        self._most = max(self._most, count.prompt_tokens + count.output_tokens)
        self._longest.set(self._most)
        self._prompt_speed.add(evaluated, count.prefill_seconds)
        self._predicted_speed.add(count.output_tokens, count.decode_seconds)

    def cancelled(self, reason: str) -> None:
        """A run was ended: `disconnected`, `superseded` or `late`."""
        self._cancelled.labels(reason).inc()

    def page(self, engine_starts: int) -> bytes:
        """The text that Prometheus reads."""
        self._starts.set(engine_starts)
        return generate_latest(self._registry)

    def _llama(self, name: str, text: str) -> Counter:
        return Counter(f"llamacpp:{name}", text, registry=self._registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"llamacpp:{name}", text, registry=self._registry)


class _Speed:
    """An average since the server began."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._tokens = self._seconds = 0.0

    def add(self, tokens: int, seconds: float) -> None:
        self._tokens += tokens
        self._seconds += seconds
        if self._seconds > 0:
            self._gauge.set(self._tokens / self._seconds)
