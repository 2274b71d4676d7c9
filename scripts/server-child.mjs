// Runs `svc serve` as a child process, with a client that uses fetch and parses server-sent events.

import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { root } from './setup/packages.mjs';

/** Starts the built server. `log` receives what it prints; `preload` is a module that runs in it and may talk to this process. */
export function startServer(args, { log, env = {}, preload }) {
  const nodeArgs = preload ? ['--import', pathToFileURL(preload).href] : [];
  const child = spawn(process.execPath, [...nodeArgs, join(root, 'dist/cli/main.js'), 'serve', ...args], {
    stdio: ['ignore', 'pipe', 'pipe', ...(preload ? ['ipc'] : [])],
    env: { ...process.env, ...env },
    detached: process.platform !== 'win32', // out of the terminal's group: Ctrl-C comes through here, once
  });
  const server = {
    pid: child.pid,
    child,
    left: false,
    /** The exit code; 1 where a signal ended it. */
    ended: new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1))),
    stop() {
      if (!server.left) child.kill('SIGTERM');
      return server.ended;
    },
  };
  child.on('close', () => (server.left = true));
  for (const stream of [child.stdout, child.stderr]) stream.on('data', log);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill('SIGTERM'));
  return server;
}

export async function whenReady(base, server) {
  while (!server.left) {
    const reply = await fetch(`${base}/readyz`).catch(() => null);
    await reply?.arrayBuffer();
    if (reply?.ok) return;
    await sleep(100);
  }
  throw new Error('The server left before it was ready.');
}

/** The whole text of a streamed reply; `onText` sees its pieces. Throws where the reply is an error or breaks off. */
export async function streamChat(base, body, { key, signal, onText = () => {} } = {}) {
  const reply = await fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ model: 'default', stream: true, ...body }),
    signal,
  });
  if (!reply.ok) throw new Error(`The server answered ${reply.status}: ${await reply.text()}`);
  let answer = '';
  let finish = null;
  for await (const chunk of events(reply.body)) {
    if (chunk.error) throw new Error(`The answer broke off: ${chunk.error.message}`);
    const choice = chunk.choices[0];
    const text = choice?.delta.content ?? '';
    onText(text);
    signal?.throwIfAborted(); // Node 20's fetch may leave the reader of an aborted reply waiting for ever
    answer += text;
    finish ??= choice?.finish_reason ?? null;
  }
  if (finish === null) throw new Error('The stream ended without a finish_reason.');
  return answer;
}

/** The JSON of each `data:` line of a stream of server-sent events. */
async function* events(body) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith('data: ') && line.trim() !== 'data: [DONE]') yield JSON.parse(line.slice(6));
    }
  }
}

export async function freePort(host, from) {
  for (let port = from; port < from + 100; port++) {
    const free = await new Promise((resolve) => {
      const probe = createServer();
      probe.once('error', () => resolve(false));
      probe.listen(port, host, () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
  throw new Error(`No port from ${from} to ${from + 99} is free: choose another with --port.`);
}
