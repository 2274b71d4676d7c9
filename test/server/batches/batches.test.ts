import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { readBatchInput } from '../../../src/server/batches/batch-input.ts';
import { start } from '../harness.ts';

const ENDPOINT = '/v1/chat/completions';

/** How long a test waits for what happens soon. */
const WAIT = { timeout: 30_000, interval: 20 };

const line = (id: string, content: string, more: object = {}): string =>
  JSON.stringify({
    custom_id: id,
    method: 'POST',
    url: ENDPOINT,
    body: { model: 'default', messages: [{ role: 'user', content }], ...more },
  });

async function startBatch(client: OpenAI, lines: string[]) {
  const file = await toFile(Buffer.from(lines.join('\n')), 'input.jsonl');
  const input = await client.files.create({ file, purpose: 'batch' });
  return client.batches.create({
    input_file_id: input.id,
    endpoint: ENDPOINT,
    completion_window: '24h',
    metadata: { job: 'test' },
  });
}

const untilStatus = (client: OpenAI, id: string, status: string) =>
  vi.waitFor(async () => {
    const batch = await client.batches.retrieve(id);
    expect(batch.status).toBe(status);
    return batch;
  }, WAIT);

async function linesOf(client: OpenAI, id: string): Promise<Record<string, unknown>[]> {
  const text = await (await client.files.content(id)).text();
  return text
    .trimEnd()
    .split('\n')
    .map((one) => JSON.parse(one) as Record<string, unknown>);
}

const clientOf = (url: string, apiKey = 'none'): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });

describe('a batch', () => {
  it('has the limits of its key, and is seen by it alone', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-batch-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const apiKeyFile = join(folder, 'keys.json');
    const keys = [
      { name: 'one', key: '1', requests_per_minute: 4 },
      { name: 'two', key: '2' },
    ];
    writeFileSync(apiKeyFile, JSON.stringify({ keys }));
    const { url } = await start({ apiKeyFile });
    const [client, other] = [clientOf(url, '1'), clientOf(url, '2')];
    // Two requests store and start the batch; two are left for its own.
    const { id } = await startBatch(client, [line('a', 'hi'), line('b', 'hi'), line('c', 'hi')]);
    await vi.waitFor(async () => {
      expect((await client.batches.retrieve(id)).request_counts!.completed).toBe(2);
    }, WAIT);
    await expect(other.batches.retrieve(id)).rejects.toThrow('there is no batch');
    expect((await other.files.list()).data).toEqual([]);
    expect((await client.batches.retrieve(id)).status).toBe('in_progress');
  });

  it('answers the requests of a file into files, by the openai client', async () => {
    const { url } = await start();
    const client = clientOf(url);
    const started = await startBatch(client, [
      line('a', 'hi'),
      line('b', 'hi', { temperature: -1 }),
      '',
      line('c', 'hi'),
    ]);
    expect(started).toMatchObject({ object: 'batch', status: 'validating', metadata: { job: 'test' } });
    const batch = await untilStatus(client, started.id, 'completed');
    expect(batch.request_counts).toEqual({ total: 3, completed: 2, failed: 1 });
    expect(batch.usage!.total_tokens).toBeGreaterThan(0);
    const answers = await linesOf(client, batch.output_file_id!);
    expect(new Set(answers.map((one) => one['custom_id']))).toEqual(new Set(['a', 'c']));
    expect(answers[0]).toMatchObject({
      error: null,
      response: { status_code: 200, body: { object: 'chat.completion' } },
    });
    expect(await linesOf(client, batch.error_file_id!)).toMatchObject([
      { custom_id: 'b', response: { status_code: 400, body: { error: { param: 'temperature' } } } },
    ]);
    expect((await client.batches.list()).data.map(({ id }) => id)).toEqual([batch.id]);
    const files = (await client.files.list()).data;
    expect(files).toHaveLength(3);
    for (const { id } of files) expect((await client.files.delete(id)).deleted).toBe(true);
    await expect(client.files.retrieve(files[0]!.id)).rejects.toThrow('there is no file');
  });

  it('whose input is wrong fails with its lines, before anything runs', async () => {
    const { url, model } = await start();
    const client = clientOf(url);
    const { id } = await startBatch(client, [line('a', 'hi'), 'no json', line('a', 'hi')]);
    const { errors } = await untilStatus(client, id, 'failed');
    expect(errors!.data).toMatchObject([
      { line: 2, code: 'invalid_request' },
      { line: 3, code: 'duplicate_custom_id' },
    ]);
    expect(model.requests).toEqual([]);
    await expect(
      client.batches.create({ input_file_id: 'file-x', endpoint: ENDPOINT, completion_window: '24h' }),
    ).rejects.toThrow('no such file');
  });

  it('is cancelled with what runs of it', async () => {
    const { url, server } = await start();
    const client = clientOf(url);
    const { id } = await startBatch(client, [line('a', 'wait 60000'), line('b', 'hi')]);
    await vi.waitFor(() => expect(server.running()).toBe(1), WAIT);
    expect(['cancelling', 'cancelled']).toContain((await client.batches.cancel(id)).status);
    const batch = await untilStatus(client, id, 'cancelled');
    expect(batch.error_file_id).toBeNull();
    await vi.waitFor(() => expect(server.running()).toBe(0), WAIT);
  });

  it('goes on where an earlier server left it', async () => {
    const outputPath = mkdtempSync(join(tmpdir(), 'svc-batch-'));
    onTestFinished(() => rmSync(outputPath, { recursive: true, force: true }));
    const first = await start({ outputPath });
    const { id } = await startBatch(clientOf(first.url), [line('a', 'hi'), line('b', 'wait 60000')]);
    await vi.waitFor(async () => {
      const { request_counts: counts } = await clientOf(first.url).batches.retrieve(id);
      expect([counts!.completed, first.server.running()]).toEqual([1, 1]);
    }, WAIT);
    await first.server.close();
    const second = await start({ outputPath });
    const client = clientOf(second.url);
    await vi.waitFor(() => expect(second.model.requests).toHaveLength(1), WAIT);
    expect(JSON.stringify(second.model.requests)).toContain('wait 60000');
    expect(await client.batches.retrieve(id)).toMatchObject({
      status: 'in_progress',
      request_counts: { total: 2, completed: 1, failed: 0 },
    });
  });
});

it('readBatchInput() tells what is wrong with a line', async () => {
  const errorsOf = async (text: string) =>
    (await readBatchInput(text, ENDPOINT)).errors.map(({ message }) => message);
  expect(await errorsOf('')).toEqual([expect.stringContaining('has no line')]);
  expect(await errorsOf(line('a', 'hi', { stream: true }))).toEqual([
    expect.stringContaining('whole replies'),
  ]);
  expect(await errorsOf(line('a', 'hi').replace(ENDPOINT, '/v1/embeddings'))).toEqual([
    expect.stringContaining('the batch is for /v1/chat/completions'),
  ]);
  expect(await errorsOf('{"custom_id": "a", "method": "GET"}')).toEqual([expect.stringContaining('method')]);
});
