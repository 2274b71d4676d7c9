// Models that are opened on demand, as Ollama's own client lists, loads, unloads, pulls and deletes them.

import { Ollama } from 'ollama';
import { expect, it } from 'vitest';
import { EngineError } from '../../../src/index.ts';
import { hold, startOnDemand } from '../catalog/demand-source.ts';

async function startClient(...given: Parameters<typeof startOnDemand>) {
  const harness = await startOnDemand(...given);
  return { ...harness, ollama: new Ollama({ host: harness.url }) };
}

it('the list has models that are not open, and their properties as far as files tell', async () => {
  const { ollama, source } = await startClient();
  const { models } = await ollama.list();
  expect(models.map(({ name, size }) => [name, size])).toEqual([
    ['owner/chat:latest', 1000],
    ['other:latest', 1000],
    ['vectors:latest', 1000],
  ]);
  expect(await ollama.show({ model: 'other:latest' })).toMatchObject({
    details: { family: 'Qwen3ForCausalLM' },
    model_info: { 'Qwen3ForCausalLM.context_length': 4096 },
    capabilities: ['completion'],
  });
  expect((await ollama.show({ model: 'vectors' })).capabilities).toEqual(['embedding']);
  expect(source.happened).toEqual([]);
});

it('an empty prompt loads and unloads, a closed model is still known, and its digest stays', async () => {
  const { ollama, source } = await startClient();
  const digest = async () => (await ollama.list()).models.find(({ name }) => name === 'other:latest')!.digest;
  const closed = await digest();
  expect(await ollama.generate({ model: 'other', prompt: '', keep_alive: '5m' })).toMatchObject({
    done_reason: 'load',
  });
  const [running] = (await ollama.ps()).models;
  const minutes = (new Date(running!.expires_at).getTime() - Date.now()) / 60_000;
  expect(minutes).toBeGreaterThan(4);
  expect(minutes).toBeLessThanOrEqual(5);
  expect(await digest()).toBe(closed);
  expect(await ollama.chat({ model: 'other', messages: [], keep_alive: 0 })).toMatchObject({
    done_reason: 'unload',
  });
  expect((await ollama.ps()).models).toEqual([]);
  expect(source.happened).toEqual(['open other', 'close other']);
  expect((await ollama.show({ model: 'other' })).capabilities).toEqual(['completion', 'tools', 'thinking']);
  expect(await digest()).toBe(closed);
});

it('keep_alive closes a model after its request, or keeps it, and pinned ones stay', async () => {
  const { ollama, source } = await startClient({ keepAlive: 300_000, pinned: ['owner/chat'] });
  const messages = [{ role: 'user', content: 'hello' }];
  await ollama.chat({ model: 'other', messages, keep_alive: 0 });
  await expect.poll(() => source.happened).toEqual(['open other', 'close other']);
  await ollama.embed({ model: 'vectors', input: 'a', keep_alive: -1 });
  await ollama.chat({ model: 'owner/chat', messages, keep_alive: 0 });
  const { models } = await ollama.ps();
  expect(models.map(({ name, expires_at }) => [name, new Date(expires_at).getFullYear()])).toEqual([
    ['owner/chat:latest', 9999],
    ['vectors:latest', 9999],
  ]);
  await expect(ollama.chat({ model: 'other', messages, keep_alive: 'soon' })).rejects.toThrow(
    'keep_alive is "soon": give seconds, or a duration as 5m or 1h30m',
  );
});

it('a pull shows its progress, and what it fetched is answered from and deleted', async () => {
  const { ollama, source } = await startClient();
  const release = hold(source, 'new/model');
  const lines: object[] = [];
  for await (const line of await ollama.pull({ model: 'hf.co/new/model:latest', stream: true })) {
    lines.push(line);
    if (lines.length === 2) release();
  }
  const part = { status: 'pulling new/model', digest: 'new/model', total: 100 };
  expect(lines).toEqual([
    { status: 'pulling manifest' },
    { ...part, completed: 25 },
    { ...part, completed: 100 },
    { status: 'success' },
  ]);
  const messages = [{ role: 'user', content: 'hello' }];
  expect((await ollama.chat({ model: 'new/model', messages })).message.content).toBe('hello');
  await ollama.delete({ model: 'new/model' });
  expect((await ollama.list()).models.map(({ name }) => name)).not.toContain('new/model:latest');
  await expect(ollama.delete({ model: 'new/model' })).rejects.toThrow('there is no model "new/model" here');
});

it('a pull that fails says why, and one that nobody reads ends', async () => {
  const { ollama, states, source } = await startClient();
  source.failures.set('new/model', new EngineError('model_not_found', 'the hub has no new/model'));
  await expect(ollama.pull({ model: 'new/model' })).rejects.toThrow('the hub has no new/model');
  source.failures.clear();
  await expect(ollama.pull({ model: 'gemma' })).rejects.toThrow('ids of the hub are written as owner/name');
  hold(source, 'new/model');
  const pulling = await ollama.pull({ model: 'new/model', stream: true });
  const read = async (): Promise<void> => {
    for await (const { completed } of pulling) if (completed) pulling.abort();
  };
  await expect(read()).rejects.toThrow('aborted');
  await expect.poll(states).not.toHaveProperty('new/model');
});

it('a pull that is left goes on for others', async () => {
  const { ollama, url, call, states, source } = await startClient();
  const release = hold(source, 'new/model');
  await call('POST', '/models', { model: 'new/model' });
  const pull = async (): Promise<void> => {
    const pulling = await ollama.pull({ model: 'new/model', stream: true });
    for await (const { completed } of pulling) if (completed) pulling.abort();
  };
  await expect(pull()).rejects.toThrow('aborted');
  const whole = new Ollama({ host: url }).pull({ model: 'new/model' });
  await expect(pull()).rejects.toThrow('aborted');
  release();
  expect(await whole).toEqual({ status: 'success' });
  expect(await states()).toMatchObject({ 'new/model': 'unloaded' });
  expect(source.happened).toEqual(['fetch new/model']);
});
