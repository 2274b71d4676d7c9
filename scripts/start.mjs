// npm start: set-up, then a server with the shipped models, three questions asked over HTTP with the answers streamed, a picture drawn where
// there is a model that draws, its description by one that reads images, and the address.
//   npm start -- --once            leaves after the answers; exit code 1 if one of them failed
//   npm start -- --help            says so
//   npm start -- --port 8080 ...   every other argument goes to `svc serve`

import { FirstTalk } from './first-talk.mjs';
import { QuietLog } from './quiet-log.mjs';
import { freePort, startServer, whenReady } from './server-child.mjs';
import { setUp } from './setup.mjs';

const FIRST_PORT = 30000;

const once = process.argv.includes('--once');
const passed = process.argv.slice(2).filter((arg) => arg !== '--once');
const key = option('--api-key') ?? process.env.SVC_API_KEY;

const HELP = `npm start [-- options]: sets up what is missing, serves the models that ship, asks three questions, has a\npicture drawn and described, and prints the address.
  --once      leave after the answers; exit code 1 where one of them failed
  --help      this page
  others      go to \`svc serve\`, as --port 8080 or --model-path Qwen/Qwen3-0.6B; \`npx svc-engine serve --help\` lists them`;

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
  // Not into the middle of an answer.
  const log = new QuietLog((text) => process.stderr.write(text));
  const server = startServer(chosen ? passed : ['--port', port, ...passed], {
    log: (bytes) => log.add(bytes),
  });
  const base = `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`;
  try {
    await whenReady(base, server);
    log.begin();
    const talk = new FirstTalk(base, { key, print: (text) => process.stdout.write(text) });
    await talk.run();
    log.end(talk.posts);
  } catch (error) {
    console.error(`\n${error.message}`);
    await server.stop();
    return 1;
  }
  if (once) return server.stop();
  printAddress(base);
  return server.ended;
}

function printAddress(base) {
  const body = { model: 'default', stream: true, messages: [{ role: 'user', content: 'Hello!' }] };
  const header = key ? " -H 'authorization: Bearer <your key>'" : '';
  console.log(`
The server runs: ${base} in a browser, ${base}/v1 for any OpenAI client. Ctrl-C stops it. For example:
  curl -N ${base}/v1/chat/completions -H 'content-type: application/json'${header} -d '${JSON.stringify(body)}'
`);
}

/** The value of `--name value` or `--name=value` among the arguments passed on. */
function option(name) {
  const at = passed.findIndex((arg) => arg === name || arg.startsWith(`${name}=`));
  if (at < 0) return null;
  return passed[at].includes('=') ? passed[at].slice(name.length + 1) : (passed[at + 1] ?? null);
}
