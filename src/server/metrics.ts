// GET /metrics: what requests took, counted as their events pass, and what the engines say of themselves when they are asked.

import type { H3Event } from 'h3';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { EmbeddingModel, TextEvent, TextModel } from '../index.ts';
import type { Service } from './service.ts';

export interface Metrics {
  readonly registry: Registry;
  /** The same model, its requests counted. */
  watchText(name: string, model: TextModel): TextModel;
  watchEmbeddings(name: string, model: EmbeddingModel): EmbeddingModel;
  /** What a text model says of itself now. */
  tell(name: string, model: TextModel): Promise<void>;
}

const LABEL = 'model_name';
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const TOKEN_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1, 2, 5];
const TOKENS = [1, 16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const common = (name: string, help: string) => ({
    name: `svc:${name}`,
    help,
    labelNames: [LABEL],
    registers: [registry],
  });
  const counter = (name: string, help: string) => new Counter(common(name, help));
  const gauge = (name: string, help: string) => new Gauge(common(name, help));
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ ...common(name, help), buckets });

  const requests = counter('num_requests_total', 'Requests that were accepted.');
  const aborted = counter('num_aborted_requests_total', 'Accepted requests that did not come to their end.');
  const prompt = counter('prompt_tokens_total', 'Prompt tokens of accepted requests.');
  const cached = counter('cached_tokens_total', 'Those of them that were in the prefix cache.');
  const generated = counter('generation_tokens_total', 'Generated tokens.');
  const first = histogram('time_to_first_token_seconds', 'From a request to its first token.', SECONDS);
  const between = histogram(
    'inter_token_latency_seconds',
    'From one token of a choice to its next.',
    TOKEN_SECONDS,
  );
  const whole = histogram('e2e_request_latency_seconds', 'From a request to its end.', SECONDS);
  const prompts = histogram('prompt_tokens_histogram', 'Prompt tokens of a request.', TOKENS);
  const uncached = histogram('uncached_prompt_tokens_histogram', 'Prompt tokens that were computed.', TOKENS);
  const replies = histogram('generation_tokens_histogram', 'Generated tokens of a choice.', TOKENS);
  const running = gauge('num_running_reqs', 'Sequences that are computed.');
  const waiting = gauge('num_queue_reqs', 'Requests that wait for a place.');
  const used = gauge('num_used_tokens', 'Tokens that the pages in use can hold.');
  const total = gauge('max_total_num_tokens', 'Tokens that all pages can hold.');
  const usage = gauge('token_usage', 'Share of the pages in use, 0 to 1.');
  const pageSize = gauge('page_size', 'Tokens of a page.');
  const context = gauge('context_len', 'Tokens of prompt and reply together.');
  const retracted = counter(
    'num_retracted_requests_total',
    'Times that a sequence gave its pages up for others.',
  );
  const restarts = counter('device_restarts_total', 'Times that a lost device was opened again.');

  async function* watched(
    labels: Record<string, string>,
    events: AsyncGenerator<TextEvent, void, void>,
  ): AsyncGenerator<TextEvent, void, void> {
    const startedAt = performance.now();
    const lastAt = new Map<number, number>();
    let accepted: { promptTokens: number } | null = null;
    let cachedTokens = 0;
    let isWhole = false;
    let isCut = false;
    try {
      for await (const event of events) {
        const now = performance.now();
        if (event.type === 'accepted') {
          accepted = event;
          requests.inc(labels);
          prompt.inc(labels, event.promptTokens);
          prompts.observe(labels, event.promptTokens);
        } else if (event.type === 'prefill') {
          cachedTokens = event.cachedTokens;
        } else if (event.type === 'done') {
          replies.observe(labels, event.completionTokens);
          isCut ||= event.finishReason === 'abort';
        } else if (event.ids.length > 0) {
          if (lastAt.size === 0) first.observe(labels, (now - startedAt) / 1000);
          const before = lastAt.get(event.choice);
          // Tokens that come together took as long as one another.
          if (before !== undefined)
            for (let i = 0; i < event.ids.length; i++)
              between.observe(labels, (now - before) / 1000 / event.ids.length);
          lastAt.set(event.choice, now);
          generated.inc(labels, event.ids.length);
        }
        yield event;
      }
      isWhole = true;
    } finally {
      if (accepted) {
        cached.inc(labels, cachedTokens);
        uncached.observe(labels, accepted.promptTokens - cachedTokens);
        whole.observe(labels, (performance.now() - startedAt) / 1000);
        if (isCut || !isWhole) aborted.inc(labels);
      }
    }
  }

  return {
    registry,
    watchText: (name, model) => ({
      ...model,
      generate: (request, options) => watched({ [LABEL]: name }, model.generate(request, options)),
    }),
    watchEmbeddings: (name, model) => ({
      ...model,
      async *generate(request, options) {
        const labels = { [LABEL]: name };
        const startedAt = performance.now();
        let left = -1;
        try {
          for await (const event of model.generate(request, options)) {
            if (event.type === 'accepted') {
              left = event.tokens.length;
              requests.inc(labels);
              for (const tokens of event.tokens) prompts.observe(labels, tokens);
              prompt.inc(
                labels,
                event.tokens.reduce((sum, tokens) => sum + tokens, 0),
              );
            } else left -= 1;
            yield event;
          }
        } finally {
          if (left >= 0) whole.observe(labels, (performance.now() - startedAt) / 1000);
          if (left > 0) aborted.inc(labels);
        }
      },
    }),
    async tell(name, model) {
      const labels = { [LABEL]: name };
      const now = await model.metrics();
      const { pages } = now;
      running.set(labels, now.running);
      waiting.set(labels, now.waiting);
      used.set(labels, pages.used * pages.tokensPerPage);
      total.set(labels, pages.total * pages.tokensPerPage);
      usage.set(labels, pages.total > 0 ? pages.used / pages.total : 0);
      pageSize.set(labels, pages.tokensPerPage);
      context.set(labels, model.info.contextLength);
      // The engine counts by itself; a model that was opened anew begins at 0 again, as counters may.
      for (const [counted, value] of [
        [retracted, now.retractions],
        [restarts, now.deviceRestarts],
      ] as const) {
        counted.remove(labels);
        counted.inc(labels, value);
      }
    },
  };
}

export async function metricsPage({ metrics, slots }: Service, event: H3Event): Promise<string> {
  for (const { names, phase } of slots) {
    if (phase.name !== 'ready' || phase.ready.kind !== 'text') continue;
    // One that ends meanwhile has nothing to say any more.
    await metrics.tell(names[0]!, phase.ready.model).catch(() => {});
  }
  event.res.headers.set('content-type', metrics.registry.contentType);
  return metrics.registry.metrics();
}
