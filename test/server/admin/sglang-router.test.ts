// SGLang's router in front of this server: it reads what the model is from /server_info and /model_info, and passes requests on.
// Needs Python's package sglang-router, in the Python that PYTHON names, or python3.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';
import { expect, it, onTestFinished } from 'vitest';
import { fakeInfo } from '../fake-model.ts';
import { freePort } from '../../live/process.ts';
import { type Harness, start } from '../harness.ts';

const PYTHON = process.env['PYTHON'] ?? 'python3';
const isInstalled = spawnSync(PYTHON, ['-c', 'import sglang_router']).status === 0;
if (!isInstalled) console.log('NOT RUN: the test of sglang-router, since it is not installed');

const KEYED = { authorization: 'Bearer secret' };

interface Workers {
  total: number;
  workers: { is_healthy: boolean }[];
}

const workersOf = async (router: string): Promise<Workers | null> => {
  const reply = await fetch(`${router}/workers`, { headers: KEYED }).catch(() => null);
  return reply?.ok ? ((await reply.json()) as Workers) : null;
};

/** Starts the router and waits until it knows all workers. */
async function startRouter(workers: string[], ...args: string[]): Promise<string> {
  const [port, metrics] = [await freePort(), await freePort()];
  const given = ['--port', port, '--prometheus-port', metrics, ...args, '--worker-urls', ...workers].map(
    String,
  );
  const router: ChildProcess = spawn(
    PYTHON,
    ['-m', 'sglang_router.launch_router', '--host', '127.0.0.1', ...given],
    { stdio: 'ignore' },
  );
  onTestFinished(() => void router.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    if ((await workersOf(url))?.total === workers.length) return url;
    if (router.exitCode !== null) throw new Error(`the router has ended with ${router.exitCode}`);
    await sleep(50);
  }
}

it.runIf(isInstalled)(
  'sglang-router knows the model, and passes requests on',
  { timeout: 60_000 },
  async () => {
    const { url, model } = await start({ apiKey: 'secret' }, { names: ['org/chat'] });
    Object.assign(model, { info: { ...fakeInfo, modelType: 'qwen3' } });
    const router = await startRouter([url], '--api-key', 'secret');
    expect(await workersOf(router)).toMatchObject({
      workers: [
        {
          model_id: 'org/chat',
          is_healthy: true,
          metadata: {
            model_path: '/models/fake-chat',
            served_model_name: 'org/chat',
            model_type: 'qwen3',
            architectures: '["Qwen3ForCausalLM"]',
          },
        },
      ],
    });
    const { chat } = new OpenAI({ baseURL: `${router}/v1`, apiKey: 'secret', maxRetries: 0 });
    const whole = await chat.completions.create({
      ...ask('call weather {"city":"Rome"}'),
      tools: [{ type: 'function', function: { name: 'weather', parameters: SCHEMA } }],
    });
    expect(whole.choices[0]?.message.tool_calls).toMatchObject([
      { function: { name: 'weather', arguments: '{"city":"Rome"}' } },
    ]);
    const stream = chat.completions.stream({
      ...ask('one two'),
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA } },
    });
    expect(await stream.finalContent()).toBe('one two');
    expect(model.requests.map(({ prompt, constraint }) => ({ prompt, constraint }))).toMatchObject([
      { prompt: { tools: [{ function: { parameters: SCHEMA } }] } },
      { constraint: { schema: SCHEMA } },
    ]);
    const unnamed = await post(router, { messages: ask('three').messages });
    expect(await unnamed.json()).toMatchObject({ choices: [{ message: { content: 'three' } }] });
  },
);

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };
const ask = (content: string) => ({ model: 'org/chat', messages: [{ role: 'user' as const, content }] });
const post = (router: string, body: object): Promise<Response> =>
  fetch(`${router}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...KEYED },
    body: JSON.stringify(body),
  });

it.runIf(isInstalled)(
  'no request is lost while workers are restarted in turn',
  { timeout: 60_000 },
  async () => {
    const worker = (port = 0): Promise<Harness> =>
      start({ port, drainDelay: 2500, drainTime: 5000 }, { names: ['org/chat'] });
    const workers = [await worker(), await worker()];
    const router = await startRouter(
      workers.map(({ url }) => url),
      ...['--policy', 'round_robin', '--health-check-interval-secs', '1'],
      ...['--health-failure-threshold', '1', '--health-success-threshold', '1'],
    );
    const replies: string[] = [];
    const done = new AbortController();
    const load = async (stream: boolean): Promise<void> => {
      while (!done.signal.aborted) {
        const reply = await post(router, { ...ask('wait 100'), stream });
        replies.push(`${reply.status} ${/"finish_reason":"\w+"/.exec(await reply.text())?.[0]}`);
      }
    };
    const clients = Promise.all([false, true, false, true].map(load));
    for (const { server, url } of workers) {
      await server.close();
      const again = await worker(Number(new URL(url).port));
      await expect
        .poll(async () => (await workersOf(router))?.workers.every((one) => one.is_healthy), {
          timeout: 9000,
        })
        .toBe(true);
      await expect.poll(() => again.model.requests.length).toBeGreaterThan(2);
    }
    done.abort();
    await clients;
    expect(new Set(replies)).toEqual(new Set(['200 "finish_reason":"stop"']));
  },
);
