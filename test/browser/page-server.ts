// The server of the pages: the bundle, the shipped models, and the routes of a test.

import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, sep } from 'node:path';
import { root } from '../../scripts/setup/packages.mjs';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

interface PageServerOptions {
  /** Names of the modules that a page loads. */
  scripts: readonly string[];
  isolated: boolean;
}

const TYPES: Readonly<Record<string, string>> = { '.js': 'text/javascript', '.json': 'application/json' };

/** Headers that make a page cross-origin isolated. */
const ISOLATION = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'same-origin',
};

export class PageServer {
  readonly #options: PageServerOptions;
  readonly #server: Server;
  readonly #routes = new Map<string, Answer>();
  #modules: readonly string[] = [];

  constructor(options: PageServerOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** `modules`: folders of the scripts and of the engine, the first one that has a file answers. */
  async start(modules: readonly string[]): Promise<void> {
    this.#modules = modules;
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async end(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  route(prefix: string, answer: Answer): void {
    this.#routes.set(prefix, answer);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = decodeURIComponent(request.url!.split('?')[0]!);
    if (this.#options.isolated)
      for (const [name, value] of Object.entries(ISOLATION)) response.setHeader(name, value);
    try {
      const prefix = [...this.#routes.keys()].find((prefix) => path.startsWith(prefix));
      if (prefix !== undefined) return await this.#routes.get(prefix)!(request, response);
      this.#answerFile(path, response);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  }

  #answerFile(path: string, response: ServerResponse): void {
    if (path === '/') {
      const scripts = this.#options.scripts.map(
        (name) => `<script type="module" src="/engine/${name}.js"></script>`,
      );
      response
        .setHeader('content-type', 'text/html')
        .end(`<!doctype html><link rel="icon" href="data:,">${scripts.join('')}`);
      return;
    }
    if (path === '/favicon.ico') {
      response.writeHead(204).end(); // asked for by pages without a link to an icon, such as a file of JSON
      return;
    }
    const [, folder, ...rest] = path.split('/');
    if (folder === 'list') {
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify(filesIn(join(root, 'models', ...rest))));
      return;
    }
    const places: Record<string, readonly string[]> = {
      engine: this.#modules,
      models: [join(root, 'models')],
      golden: [join(root, 'test/golden')],
    };
    const found = folder !== undefined && folder in places ? places[folder]! : [];
    const file = found
      .map((place) => join(place, ...rest))
      .find((path) => existsSync(path) && statSync(path).isFile());
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
    response.end(readFileSync(file));
  }
}

/** Paths of the files below a folder, with / between their parts. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .split(sep)
        .join('/'),
    );
}
