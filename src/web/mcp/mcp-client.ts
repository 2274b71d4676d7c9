// A client of the Model Context Protocol over streamable HTTP: JSON-RPC in POST requests, whose replies are JSON or server-sent events.
// It asks for tools and calls them; the rest of the protocol is not needed here.

import { readEvents } from '../api/events.ts';

/** The version that is asked for; servers answer with one of their own, and any has the calls that are made here. */
const VERSION = '2025-06-18';
/** Pages of a list of tools that are read. */
const MOST_PAGES = 20;

export interface McpTool {
  name: string;
  description?: string;
  inputSchema: object;
}

interface RpcReply {
  id?: number | string | null;
  result?: Record<string, unknown>;
  error?: { message: string };
}

export interface ServerAddress {
  url: string;
  /** Bearer token; '' for none. */
  token: string;
}

class StatusError extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

export class McpClient {
  readonly #address: ServerAddress;
  #session: string | null = null;
  #version: string | null = null;
  #lastId = 0;

  constructor(address: ServerAddress) {
    this.#address = address;
  }

  /** Begins a session. Throws an error for the user. */
  async open(signal?: AbortSignal): Promise<void> {
    const params = {
      protocolVersion: VERSION,
      capabilities: {},
      clientInfo: { name: 'svc-engine', version: '1' },
    };
    const result = await this.#request('initialize', params, signal);
    const version = result['protocolVersion'];
    this.#version = typeof version === 'string' ? version : VERSION;
    await this.#post({ jsonrpc: '2.0', method: 'notifications/initialized' }, signal);
  }

  async tools(signal?: AbortSignal): Promise<McpTool[]> {
    const tools: McpTool[] = [];
    let cursor: unknown;
    for (let page = 0; page < MOST_PAGES; page++) {
      const result = await this.#request('tools/list', cursor === undefined ? {} : { cursor }, signal);
      tools.push(...((result['tools'] ?? []) as McpTool[]));
      cursor = result['nextCursor'];
      if (cursor === undefined) break;
    }
    return tools;
  }

  /** Calls a tool; `isError`: the tool says that it failed. */
  async call(name: string, given: object, signal?: AbortSignal): Promise<{ text: string; isError: boolean }> {
    const result = await this.#request('tools/call', { name, arguments: given }, signal);
    const parts = (result['content'] ?? []) as { type: string; text?: string; mimeType?: string }[];
    const texts = parts.map(
      ({ type, text, mimeType }) => text ?? `(${type}${mimeType ? ` of ${mimeType}` : ''})`,
    );
    const structured = result['structuredContent'];
    const text = texts.length > 0 || structured === undefined ? texts.join('\n') : JSON.stringify(structured);
    return { text, isError: result['isError'] === true };
  }

  async #request(method: string, params: object, signal?: AbortSignal): Promise<Record<string, unknown>> {
    const id = ++this.#lastId;
    const message = { jsonrpc: '2.0', id, method, params };
    const response = await this.#post(message, signal).catch(async (error: unknown) => {
      // The server has ended the session: another one begins.
      if (!(error instanceof StatusError) || error.status !== 404 || this.#session === null) throw error;
      this.#session = null;
      this.#version = null;
      await this.open(signal);
      return this.#post(message, signal);
    });
    this.#session = response.headers.get('mcp-session-id') ?? this.#session;
    const reply = await replyTo(id, response);
    if (reply.error) throw new Error(`${this.#address.url} refused ${method}: ${reply.error.message}`);
    return reply.result ?? {};
  }

  async #post(message: object, signal?: AbortSignal): Promise<Response> {
    const { url, token } = this.#address;
    const headers = new Headers({
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    });
    if (token) headers.set('authorization', `Bearer ${token}`);
    if (this.#session) headers.set('mcp-session-id', this.#session);
    if (this.#version) headers.set('mcp-protocol-version', this.#version);
    const init = { method: 'POST', headers, body: JSON.stringify(message), ...(signal && { signal }) };
    const response = await fetch(url, init).catch((error: unknown) => {
      if (signal?.aborted) throw signal.reason;
      throw new Error(
        `${url} cannot be reached (${String(error)}); check that it runs, that it allows pages of ${location.origin} (CORS), and that svc serve was started with --mcp-origins for it if it is on another machine.`,
      );
    });
    if (response.ok) return response;
    const remedy = response.status === 401 ? 'enter the token that it asks for' : 'check the address';
    throw new StatusError(`${url} answered ${response.status}; ${remedy}.`, response.status);
  }
}

/** The reply to a request, among the events where they come as a stream. */
async function replyTo(id: number, response: Response): Promise<RpcReply> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return (await response.json()) as RpcReply;
  for await (const { data, isComment } of readEvents(response)) {
    if (isComment || data === '') continue;
    const reply = JSON.parse(data) as RpcReply;
    if (reply.id === id) return reply;
  }
  throw new Error(`${response.url} ended its reply without a result`);
}
