// Serves the example, the engine's bundle and the models that ship.
//   node scripts/examples/browser/serve.mjs [PORT]

import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../../..');

/** Folders by the first segment of a path; any other path lies beside this file. */
const FOLDERS = { engine: join(root, 'dist/browser'), models: join(root, 'models') };

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
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, close };
}

function answer(request, response) {
  const [first, ...rest] = decodeURIComponent(request.url.split('?')[0]).split('/').slice(1);
  if (rest.includes('..')) return response.writeHead(404).end();
  const path = first in FOLDERS ? join(FOLDERS[first], ...rest) : join(here, first || 'index.html');
  if (!existsSync(path)) return response.writeHead(404).end();
  if (statSync(path).isDirectory()) return sendList(path, response);
  return sendFile(path, request.headers.range, response);
}

/** Sends the names and sizes of all files below a folder. */
function sendList(folder, response) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const list = files.map((entry) => {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    return { name: path.slice(join(folder, sep).length).split(sep).join('/'), size: statSync(path).size };
  });
  response.setHeader('content-type', TYPES['.json']).end(JSON.stringify(list));
}

function sendFile(path, range, response) {
  const { size } = statSync(path);
  response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream');
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
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
