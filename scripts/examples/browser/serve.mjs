// Serves the example, the engine's bundle and the models that ship.
//   node scripts/examples/browser/serve.mjs [PORT]

import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../../..');

/** Folders by the first segment of a path; any other path lies beside this file. @type {Record<string, string>} */
const FOLDERS = { engine: join(root, 'dist/browser'), models: join(root, 'models') };

/** @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
};

/** What the engine needs: scripts and workers of one's own origin, and the addresses of the hub. See README.md. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self'",
  'img-src blob: data:',
  "connect-src 'self' https://huggingface.co https://*.huggingface.co https://*.hf.co",
].join('; ');

/** @returns {Promise<{ url: string, close(): void }>} */
export async function serveExample(port = 0) {
  const server = createServer((request, response) => {
    response.setHeader('content-security-policy', POLICY);
    answer(request, response);
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(null)));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  const { port: bound } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${bound}/`, close };
}

/** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
function answer(request, response) {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const [first = '', ...rest] = decodeURIComponent(pathname).split('/').slice(1);
  if (rest.includes('..')) return response.writeHead(404).end();
  const folder = Object.hasOwn(FOLDERS, first) ? FOLDERS[first] : undefined;
  const path = folder === undefined ? join(here, first || 'index.html') : join(folder, ...rest);
  if (!existsSync(path)) return response.writeHead(404).end();
  if (statSync(path).isDirectory()) return sendList(path, response);
  return sendFile(path, request.headers.range, response);
}

/** Sends the names and sizes of all files below a folder. @param {string} folder @param {import('node:http').ServerResponse} response */
function sendList(folder, response) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const list = files.map((entry) => {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    return { name: path.slice(join(folder, sep).length).split(sep).join('/'), size: statSync(path).size };
  });
  response.setHeader('content-type', 'application/json').end(JSON.stringify(list));
}

/** @param {string} path @param {string | undefined} range @param {import('node:http').ServerResponse} response */
function sendFile(path, range, response) {
  const { size } = statSync(path);
  response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream');
  const [, first, last = ''] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
  if (first === undefined) return createReadStream(path).pipe(response);
  const start = Number(first);
  const end = Math.min(Number(last), size - 1);
  if (start > end) return response.writeHead(416).end();
  response.writeHead(206, {
    'content-range': `bytes ${start}-${end}/${size}`,
    'content-length': end - start + 1,
  });
  return createReadStream(path, { start, end }).pipe(response);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await serveExample(Number(process.argv[2] ?? 8080));
  console.log(`Open ${url} in a browser with WebGPU.`);
}
