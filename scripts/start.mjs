// npm start: set-up, then a chat server with the shipped model, three questions asked over HTTP with the answers streamed, and the address.
//   npm start -- --once            leaves after the answers; exit code 1 if one of them failed
//   npm start -- --port 8080 ...   every other argument goes to `svc serve`

import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setUp } from './setup.mjs';
import { root } from './setup/packages.mjs';

const QUESTIONS = [
  'Hello, my name is Ada. Who are you?',
  'What is the capital of France?',
  'What is my name?',
];
const FIRST_PORT = 30000;

const once = process.argv.includes('--once');
const passed = process.argv.slice(2).filter((arg) => arg !== '--once');

try {
  process.exitCode = await start();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

async function start() {
  const { adapter } = await setUp();
  console.log(`Adapter: ${adapter}`);
  const host = option('--host') ?? '127.0.0.1';
  const chosen = option('--port');
  const port = chosen ?? String(await freePort(host, FIRST_PORT));
  const server = serve(chosen ? passed : ['--port', port, ...passed]);
  const base = `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`;
  try {
    await whenReady(base, server);
    server.quiet = true;
    await converse(base);
    server.quiet = false;
  } catch (error) {
    // The server has already said why it left; otherwise it is stopped here.
    console.error(`\n${error.message}`);
    await server.stop();
    return 1;
  }
  if (once) return server.stop();
  printAddress(base);
  return server.ended;
}

/** The server as a child. Its log is passed on, but not into the middle of an answer. */
function serve(args) {
  const child = spawn(process.execPath, [join(root, 'dist/cli/main.js'), 'serve', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32', // out of the terminal's group: Ctrl-C comes through here, once
  });
  const server = {
    quiet: false,
    left: false,
    ended: new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1))),
    stop() {
      if (!server.left) child.kill('SIGTERM');
      return server.ended;
    },
  };
  child.on('close', () => (server.left = true));
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes) => {
      if (!server.quiet) process.stderr.write(bytes);
    });
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill('SIGTERM'));
  return server;
}

async function whenReady(base, server) {
  while (!server.left) {
    const reply = await fetch(`${base}/readyz`).catch(() => null);
    await reply?.arrayBuffer();
    if (reply?.ok) return;
    await sleep(200);
  }
  throw new Error('The server left before it was ready.');
}

/** Asks the questions in one conversation and prints the answers as they come. */
async function converse(base) {
  const messages = [];
  for (const question of QUESTIONS) {
    process.stdout.write(`\n> ${question}\n`);
    messages.push({ role: 'user', content: question });
    const answer = await ask(base, messages);
    messages.push({ role: 'assistant', content: answer });
    process.stdout.write('\n');
  }
}

async function ask(base, messages) {
  const key = option('--api-key');
  const reply = await fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ model: 'default', messages, stream: true }),
  });
  if (!reply.ok) throw new Error(`The server answered ${reply.status}: ${await reply.text()}`);
  let answer = '';
  let finish = null;
  for await (const chunk of events(reply.body)) {
    if (chunk.error) throw new Error(`The answer broke off: ${chunk.error.message}`);
    const choice = chunk.choices[0];
    const text = choice?.delta.content ?? '';
    process.stdout.write(text);
    answer += text;
    finish ??= choice?.finish_reason ?? null;
  }
  if (finish === null || answer.trim() === '') throw new Error('The server sent no whole answer.');
  return answer;
}

/** The JSON of each `data:` line of a stream of server-sent events. */
async function* events(body) {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith('data: ') && line.trim() !== 'data: [DONE]') yield JSON.parse(line.slice(6));
    }
  }
}

function printAddress(base) {
  const body = { model: 'default', stream: true, messages: [{ role: 'user', content: 'Hello!' }] };
  const key = option('--api-key') ? " -H 'authorization: Bearer <your key>'" : '';
  console.log(`
The chat server runs at ${base}/v1 (any OpenAI client; Ctrl-C stops it). For example:
  curl -N ${base}/v1/chat/completions -H 'content-type: application/json'${key} -d '${JSON.stringify(body)}'
`);
}

/** The value of `--name value` or `--name=value` among the arguments passed on. */
function option(name) {
  const at = passed.findIndex((arg) => arg === name || arg.startsWith(`${name}=`));
  if (at < 0) return null;
  return passed[at].includes('=') ? passed[at].slice(name.length + 1) : (passed[at + 1] ?? null);
}

async function freePort(host, from) {
  for (let port = from; port < from + 100; port++) {
    const free = await new Promise((resolve) => {
      const probe = createServer();
      probe.once('error', () => resolve(false));
      probe.listen(port, host, () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
  throw new Error(
    `No port from ${from} to ${from + 99} is free: choose one with npm start -- --port <number>.`,
  );
}
