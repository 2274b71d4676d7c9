// Traces by OpenTelemetry, if its environment variables ask for them and its package is installed: a span for each request, which
// continues the trace of its client, and in it one for each reply of a language model, with the attributes of the conventions for generative AI.

import type * as api from '@opentelemetry/api';
import type { Attributes, Context, Span, SpanKind, TracerProvider } from '@opentelemetry/api';
import type { EmbeddingEvent, TextEvent } from '../../index.ts';
import type { Log } from '../http/request-log.ts';

type Api = typeof api;
type Events<T> = AsyncGenerator<T, void, void>;

/** Variables of which any switches traces on. */
const ASKS = ['OTEL_TRACES_EXPORTER', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
/** Milliseconds that the last spans get to be sent when the server ends. */
const FLUSH_TIME = 3000;

type Environment = Readonly<Record<string, string | undefined>>;

const asksForTraces = (environment: Environment): boolean =>
  environment['OTEL_SDK_DISABLED']?.toLowerCase() !== 'true' &&
  environment['OTEL_TRACES_EXPORTER'] !== 'none' &&
  ASKS.some((name) => environment[name]);

/** Starts the SDK, which reads the rest of the environment itself; null where no traces are asked for, or, with a warning, without its package. */
export async function openTracing(log: Log, environment: Environment = process.env): Promise<Tracing | null> {
  if (!asksForTraces(environment)) return null;
  try {
    const [api, { NodeSDK }] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-node'),
    ]);
    const sdk = new NodeSDK({
      serviceName: environment['OTEL_SERVICE_NAME'] || 'svc-engine',
      instrumentations: [],
    });
    sdk.start();
    return new Tracing(api, api.trace.getTracerProvider(), () => sdk.shutdown());
  } catch (error) {
    log.warn(
      `No traces are sent, though the environment asks for them: ${String(error)}. Run npm install @opentelemetry/api @opentelemetry/sdk-node.`,
    );
    return null;
  }
}

/** A request, as its span shows it. */
interface TracedCall {
  id: string;
  method: string;
  path: string;
  /** Name of its key; '' without one. */
  key: string;
  status: number;
}

export class Tracing {
  readonly #api: Api;
  readonly #tracer: ReturnType<TracerProvider['getTracer']>;
  readonly #shutdown: () => Promise<void>;

  constructor(api: Api, provider: TracerProvider, shutdown: () => Promise<void> = async () => {}) {
    this.#api = api;
    this.#tracer = provider.getTracer('svc-engine');
    this.#shutdown = shutdown;
  }

  /** Begins the span of a request. */
  request(call: TracedCall, headers: Headers): RequestSpan {
    const { propagation, ROOT_CONTEXT, SpanKind } = this.#api;
    const parent = propagation.extract(ROOT_CONTEXT, Object.fromEntries(headers));
    const attributes = {
      'http.request.method': call.method,
      'url.path': call.path,
      'svc.request.id': call.id,
    };
    const span = this.#span(call.method, SpanKind.SERVER, attributes, parent);
    return new RequestSpan(this.#api, span, parent, call);
  }

  /** Follows a request to a language model in a span of its own. */
  watchText(model: string, events: Events<TextEvent>): Events<TextEvent> {
    return this.#watch('chat', model, events, (span, event) => {
      if (event.type === 'accepted') span.setAttribute('gen_ai.usage.input_tokens', event.promptTokens);
      else if (event.type === 'prefill')
        span.addEvent('prefill', { 'svc.cached_tokens': event.cachedTokens });
      else if (event.type === 'done') {
        span.setAttribute('gen_ai.response.finish_reasons', [event.finishReason]);
        return event.completionTokens;
      } else if ('ids' in event && event.ids.length > 0) return 'first';
      return 0;
    });
  }

  watchEmbeddings(model: string, events: Events<EmbeddingEvent>): Events<EmbeddingEvent> {
    return this.#watch('embeddings', model, events, (span, event) => {
      if (event.type === 'accepted')
        span.setAttribute(
          'gen_ai.usage.input_tokens',
          event.tokens.reduce((sum, each) => sum + each, 0),
        );
      return 0;
    });
  }

  /** Sends what is left, for a few seconds at most. */
  async end(): Promise<void> {
    const late = new Promise<void>((resolve) => setTimeout(resolve, FLUSH_TIME).unref());
    await Promise.race([this.#shutdown().catch(() => {}), late]);
  }

  /** `see` returns the tokens that an event adds to the output, or `first` for one that shows the first of them. */
  #watch<T>(
    operation: string,
    model: string,
    events: Events<T>,
    see: (span: Span, event: T) => number | 'first',
  ): Events<T> {
    const { context, SpanKind } = this.#api;
    const attributes = {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': 'svc-engine',
      'gen_ai.request.model': model,
    };
    const span = this.#span(`${operation} ${model}`, SpanKind.INTERNAL, attributes, context.active());
    return this.#follow(span, events, see);
  }

  async *#follow<T>(
    span: Span,
    events: Events<T>,
    see: (span: Span, event: T) => number | 'first',
  ): Events<T> {
    let tokens = 0;
    let hasFirst = false;
    let isWhole = false;
    try {
      for await (const event of events) {
        const seen = see(span, event);
        if (seen !== 'first') tokens += seen;
        else if (!hasFirst) span.addEvent('first token');
        hasFirst ||= seen === 'first';
        yield event;
      }
      isWhole = true;
    } catch (error) {
      span.recordException(error instanceof Error ? error : String(error));
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: String(error) });
      throw error;
    } finally {
      if (tokens > 0) span.setAttribute('gen_ai.usage.output_tokens', tokens);
      if (!isWhole) span.setAttribute('svc.cut_short', true);
      span.end();
    }
  }

  #span(name: string, kind: SpanKind, attributes: Attributes, parent: Context): Span {
    return this.#tracer.startSpan(name, { kind, attributes }, parent);
  }
}

/** The span of a request, which ends with its reply. */
export class RequestSpan {
  readonly #api: Api;
  readonly #span: Span;
  readonly #context: Context;
  readonly #call: TracedCall;

  constructor(api: Api, span: Span, parent: Context, call: TracedCall) {
    this.#api = api;
    this.#span = span;
    this.#context = api.trace.setSpan(parent, span);
    this.#call = call;
  }

  /** Runs the handler within the span. `route`: the address with its parameters' names. */
  run<T>(route: string, handle: () => T): T {
    this.#span.updateName(`${this.#call.method} ${route}`);
    this.#span.setAttribute('http.route', route);
    return this.#api.context.with(this.#context, handle);
  }

  end(): void {
    const { status, key } = this.#call;
    this.#span.setAttribute('http.response.status_code', status);
    if (key !== '') this.#span.setAttribute('svc.key.name', key);
    if (status >= 500) this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    this.#span.end();
  }
}
