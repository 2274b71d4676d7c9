import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openTracing } from '../../../src/server/service/tracing.ts';
import { ask, start } from '../harness.ts';

interface SentSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  events: { name: string }[];
}

const SILENT = { error() {}, warn() {}, info() {}, debug() {} };

/** A collector of traces that speaks OTLP over HTTP with JSON. */
async function startCollector(): Promise<{ url: string; spans: SentSpan[] }> {
  const spans: SentSpan[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    let text = '';
    request.on('data', (chunk) => (text += String(chunk)));
    request.on('end', () => {
      const { resourceSpans } = JSON.parse(text) as {
        resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[];
      };
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans };
}

const valueOf = ({ attributes }: SentSpan, key: string): unknown =>
  Object.values(attributes.find((one) => one.key === key)?.value ?? {})[0];

describe('traces', () => {
  it('show a request in the trace of its client, and in it the reply of the model', async () => {
    const { url: collector, spans } = await startCollector();
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector);
    vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json');
    const { post, server } = await start();
    vi.unstubAllEnvs();
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const headers = {
      'content-type': 'application/json',
      traceparent: `00-${traceId}-b7ad6b7169203331-01`,
    };
    await (await post(ask('hi', { stream: true }), { headers })).text();
    await server.close(); // sends what is left
    const request = spans.find(({ name }) => name === 'POST /v1/chat/completions')!;
    expect(request).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331' });
    expect(Number(valueOf(request, 'http.response.status_code'))).toBe(200);
    const reply = spans.find(({ name }) => name === 'chat fake-chat')!;
    expect(reply).toMatchObject({ traceId, parentSpanId: request.spanId });
    expect(reply.events.map(({ name }) => name)).toContain('first token');
    expect(Number(valueOf(reply, 'gen_ai.usage.output_tokens'))).toBeGreaterThan(0);
  });

  it('are made only where the environment asks for them', async () => {
    expect(await openTracing(SILENT, {})).toBeNull();
    expect(await openTracing(SILENT, { OTEL_TRACES_EXPORTER: 'none' })).toBeNull();
    const off = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:1', OTEL_SDK_DISABLED: 'true' };
    expect(await openTracing(SILENT, off)).toBeNull();
  });
});
