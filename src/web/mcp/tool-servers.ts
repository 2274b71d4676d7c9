// The tool servers that a user has named: kept in the browser's storage, connected when they are needed.

import { signal } from '@preact/signals';
import { McpClient, type McpTool, type ServerAddress } from './mcp-client.ts';

const STORED = 'svc-tool-servers';

export interface ToolServer extends ServerAddress {
  isOn: boolean;
  /** Tools that are called without asking. */
  always: string[];
}

/** What is known of a server that is on. */
export type Connection = { client: McpClient; tools: McpTool[] } | { problem: string } | 'connecting';

export const servers = signal<readonly ToolServer[]>(read());
/** Connections by address. */
export const connections = signal<ReadonlyMap<string, Connection>>(new Map());

function read(): ToolServer[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORED) ?? '[]');
    return Array.isArray(stored) ? (stored as ToolServer[]) : [];
  } catch {
    return [];
  }
}

function write(changed: readonly ToolServer[]): void {
  servers.value = changed;
  localStorage.setItem(STORED, JSON.stringify(changed));
}

/** Adds a server, or gives one that is there another token. */
export async function addServer({ url, token }: ServerAddress): Promise<void> {
  const before = servers.value.find((server) => server.url === url);
  const added = { url, token, isOn: true, always: before?.always ?? [] };
  write([...servers.value.filter((server) => server.url !== url), added]);
  await connect(added);
}

export function removeServer(url: string): void {
  write(servers.value.filter((server) => server.url !== url));
  forget(url);
}

export async function switchServer(url: string, isOn: boolean): Promise<void> {
  change(url, (server) => ({ ...server, isOn }));
  if (!isOn) return forget(url);
  await connectAll();
}

/** Calls of a tool are no longer confirmed, or are again. */
export function setAlways(url: string, tool: string, isAlways: boolean): void {
  change(url, (server) => {
    const others = server.always.filter((name) => name !== tool);
    return { ...server, always: isAlways ? [...others, tool] : others };
  });
}

const change = (url: string, by: (server: ToolServer) => ToolServer): void =>
  write(servers.value.map((server) => (server.url === url ? by(server) : server)));

/** Connects the servers that are on and have no connection. Never rejects: problems are in `connections`. */
export async function connectAll(): Promise<void> {
  const missing = servers.value.filter(({ url, isOn }) => {
    const known = connections.value.get(url);
    return isOn && (known === undefined || (typeof known === 'object' && 'problem' in known));
  });
  await Promise.all(missing.map(connect));
}

async function connect(server: ToolServer): Promise<void> {
  const { url } = server;
  set(url, 'connecting');
  try {
    const client = new McpClient(server);
    await client.open();
    set(url, { client, tools: await client.tools() });
  } catch (error) {
    set(url, { problem: (error as Error).message });
  }
}

function set(url: string, connection: Connection): void {
  // A server that was removed meanwhile stays removed.
  if (servers.value.some((server) => server.url === url && server.isOn))
    connections.value = new Map(connections.value).set(url, connection);
}

function forget(url: string): void {
  const others = new Map(connections.value);
  others.delete(url);
  connections.value = others;
}

export interface FoundTool {
  server: ToolServer;
  client: McpClient;
  tool: McpTool;
}

/** The tools of all connected servers; of several with one name that of the first server. */
export function connectedTools(): Map<string, FoundTool> {
  const found = new Map<string, FoundTool>();
  for (const server of servers.value) {
    const connection = connections.value.get(server.url);
    if (!server.isOn || typeof connection !== 'object' || 'problem' in connection) continue;
    const { client, tools } = connection;
    for (const tool of tools) if (!found.has(tool.name)) found.set(tool.name, { server, client, tool });
  }
  return found;
}
