// npm start: set-up, then a server with the shipped models, three questions asked over HTTP with the answers streamed, a picture drawn where
// there is a model that draws, its description by one that reads images, and the address.
//   npm start -- --once            leaves after the answers; exit code 1 if one of them failed
//   npm start -- --help            says so
//   npm start -- --port 8080 ...   every other argument goes to `svc serve`

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, startServer, streamChat, whenReady } from './server-child.mjs';
import { setUp } from './setup.mjs';

const QUESTIONS = [
  'Hello, my name is Ada. Who are you?',
  'What is the capital of France?',
  'What is my name?',
];
const ABOUT_PICTURE = 'What do you see in this picture?';
/** The README's first picture. */
const PICTURE = { prompt: 'a red balloon over snowy mountains at sunset', seed: 3 };
const FOLDER = 'outputs';
const FIRST_PORT = 30000;

const once = process.argv.includes('--once');
const passed = process.argv.slice(2).filter((arg) => arg !== '--once');
const key = option('--api-key') ?? process.env.SVC_API_KEY;

const HELP = `npm start [-- options]: sets up what is missing, serves the models that ship, asks three questions, has a\npicture drawn and described, and prints the address.
  --once      leave after the answers; exit code 1 where one of them failed
  --help      this page
  others      go to \`svc serve\`, as --port 8080 or --model-path Qwen/Qwen3-0.6B; \`npx svc serve --help\` lists them`;

try {
  process.exitCode = passed.some((arg) => arg === '--help' || arg === '-h') ? help() : await start();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

function help() {
  console.log(HELP);
  return 0;
}

async function start() {
  const { adapter } = await setUp();
  console.log(`Adapter: ${adapter}`);
  const host = option('--host') ?? '127.0.0.1';
  const chosen = option('--port');
  const port = chosen ?? String(await freePort(host, FIRST_PORT));
  let talking = false;
  const server = startServer(chosen ? passed : ['--port', port, ...passed], {
    // Not into the middle of an answer.
    log: (bytes) => talking || process.stderr.write(bytes),
  });
  const base = `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`;
  try {
    await whenReady(base, server);
    talking = true;
    const { chats, sees, draws } = await modelsServed(base);
    if (chats) await converse(base);
    const picture = draws ? await draw(base) : null;
    if (picture && sees) await describe(base, sees, picture);
    talking = false;
  } catch (error) {
    console.error(`\n${error.message}`);
    await server.stop();
    return 1;
  }
  if (once) return server.stop();
  printAddress(base);
  return server.ended;
}

/** Asks the questions in one conversation and prints the answers as they come. */
async function converse(base) {
  const messages = [];
  for (const question of QUESTIONS) {
    process.stdout.write(`\n> ${question}\n`);
    messages.push({ role: 'user', content: question });
    messages.push({ role: 'assistant', content: await printAnswer(base, { messages }) });
  }
}

/** Prints the answer as it comes; returns it. */
async function printAnswer(base, request) {
  const answer = await streamChat(base, request, { key, onText: (text) => process.stdout.write(text) });
  if (answer.trim() === '') throw new Error('The server sent an empty answer.');
  process.stdout.write('\n');
  return answer;
}

/** Whether a model that chats and one that draws are served, and the name of one that reads images. */
async function modelsServed(base) {
  const { data } = await call(base, '/v1/models');
  return {
    chats: data.some((model) => !model.pipeline),
    sees: data.find((model) => model.modalities?.includes('image') && !model.pipeline)?.id,
    draws: data.some((model) => model.pipeline),
  };
}

/** Shows the picture to a model and prints what it says. */
async function describe(base, model, picture) {
  process.stdout.write(`\n> [the picture] ${ABOUT_PICTURE}\n`);
  const url = `data:image/png;base64,${picture.toString('base64')}`;
  const content = [
    { type: 'image_url', image_url: { url } },
    { type: 'text', text: ABOUT_PICTURE },
  ];
  await printAnswer(base, { model, messages: [{ role: 'user', content }], temperature: 0 });
}

/** Has one picture drawn, prints its path and returns its bytes. */
async function draw(base) {
  process.stdout.write(`\n> Draw ${PICTURE.prompt}\n`);
  const started = performance.now();
  const { data, unknown_words: unknown = [] } = await call(base, '/v1/images/generations', PICTURE);
  const picture = Buffer.from(data[0].b64_json, 'base64');
  const path = await saveNew(picture);
  if (unknown.length > 0) console.log(`(the model does not know: ${unknown.join(', ')})`);
  console.log(`${path} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  return picture;
}

/** Under the first number that is free, as `svc generate` names its pictures. */
async function saveNew(bytes) {
  await mkdir(FOLDER, { recursive: true });
  for (let index = 0; ; index++) {
    const path = join(FOLDER, `generated_image_${index}.png`);
    try {
      await writeFile(path, bytes, { flag: 'wx' });
      return path;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
  }
}

/** The JSON that the server answers with. */
async function call(base, path, body) {
  const reply = await fetch(base + path, {
    headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  if (!reply.ok) throw new Error(`The server answered ${reply.status}: ${await reply.text()}`);
  return reply.json();
}

function printAddress(base) {
  const body = { model: 'default', stream: true, messages: [{ role: 'user', content: 'Hello!' }] };
  const header = key ? " -H 'authorization: Bearer <your key>'" : '';
  console.log(`
The server runs at ${base}/v1 (any OpenAI client; Ctrl-C stops it). For example:
  curl -N ${base}/v1/chat/completions -H 'content-type: application/json'${header} -d '${JSON.stringify(body)}'
`);
}

/** The value of `--name value` or `--name=value` among the arguments passed on. */
function option(name) {
  const at = passed.findIndex((arg) => arg === name || arg.startsWith(`${name}=`));
  if (at < 0) return null;
  return passed[at].includes('=') ? passed[at].slice(name.length + 1) : (passed[at + 1] ?? null);
}
