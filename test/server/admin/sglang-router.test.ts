// SGLang's router in front of this server: it reads what the model is from /server_info and /model_info, and passes requests on.
// Needs Python's package sglang-router, in the Python that PYTHON names, or python3.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { expect, it, onTestFinished } from 'vitest';
import { fakeInfo } from '../fake-model.ts';
import { freePort } from '../../live/process.ts';
import { start } from '../harness.ts';

const PYTHON = process.env['PYTHON'] ?? 'python3';
const isInstalled = spawnSync(PYTHON, ['-c', 'import sglang_router']).status === 0;
if (!isInstalled) console.log('NOT RUN: the test of sglang-router, since it is not installed');

async function startRouter(worker: string): Promise<string> {
  const [port, metrics] = [await freePort(), await freePort()];
  const given = ['--port', port, '--prometheus-port', metrics, '--worker-urls', worker].map(String);
  const router: ChildProcess = spawn(
    PYTHON,
    ['-m', 'sglang_router.launch_router', '--host', '127.0.0.1', ...given],
    { stdio: 'ignore' },
  );
  onTestFinished(() => void router.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const reply = await fetch(`${url}/workers`).catch(() => null);
    const { total } = reply?.ok ? ((await reply.json()) as { total: number }) : { total: 0 };
    if (total > 0) return url;
    if (router.exitCode !== null) throw new Error(`the router has ended with ${router.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

it.runIf(isInstalled)(
  'sglang-router knows the model, and passes requests on',
  { timeout: 60_000 },
  async () => {
    const { url, model } = await start({}, { names: ['org/chat'] });
    Object.assign(model, { info: { ...fakeInfo, modelType: 'qwen3' } });
    const router = await startRouter(url);
    expect(await (await fetch(`${router}/workers`)).json()).toMatchObject({
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
    const reply = await fetch(`${router}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'org/chat', messages: [{ role: 'user', content: 'one two' }] }),
    });
    expect(await reply.json()).toMatchObject({ choices: [{ message: { content: 'one two' } }] });
  },
);
