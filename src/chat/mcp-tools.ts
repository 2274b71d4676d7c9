// Tools of a server of the Model Context Protocol as tools of a conversation. The client is the program's own, whatever its transport is: what is needed of it
// are two methods of @modelcontextprotocol/client.

import { badRequest } from '../files/error.ts';
import type { JsonSchema } from './json-schema-type.ts';
import type { ToolDefinition } from './tools.ts';

interface McpContent {
  readonly type: string;
  readonly text?: unknown;
}

interface McpResult {
  readonly content?: readonly McpContent[] | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
}

/** The methods of a connected client that tools call. */
export interface McpClient {
  listTools(params?: { cursor?: string }): Promise<{
    readonly tools: readonly McpTool[];
    readonly nextCursor?: string | undefined;
  }>;
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    options?: { signal?: AbortSignal },
  ): Promise<unknown>;
}

export interface McpOptions {
  /** Precedes the names of the tools, so that those of several servers differ. */
  prefix?: string;
  /** Only tools of these names, without the prefix. */
  names?: readonly string[];
}

/** Most pages of a list of tools. */
const MOST_PAGES = 100;

/**
 * Lists the tools of a connected client for the option `tools` of chat(): { ...await mcpTools(client), ...own }. The model gets the texts of a result, or its
 * structured content where it has no text; other content is named by its type. A result that is an error is one to the model, too. Throws bad_request for
 * `names` that the server does not have, and what the client throws.
 */
export async function mcpTools(
  client: McpClient,
  { prefix = '', names }: McpOptions = {},
): Promise<Record<string, ToolDefinition<JsonSchema>>> {
  const listed = await listTools(client);
  const missing = names?.find((name) => !listed.some((one) => one.name === name));
  if (missing !== undefined)
    throw badRequest(
      `names has ${JSON.stringify(missing)}, and the tools of the server are ${listed.map(({ name }) => name).join(', ')}`,
      'names',
    );
  const chosen = listed.filter(({ name }) => names?.includes(name) ?? true);
  return Object.fromEntries(chosen.map((one) => [`${prefix}${one.name}`, toolOf(client, one)]));
}

async function listTools(client: McpClient): Promise<McpTool[]> {
  const listed: McpTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { tools, nextCursor } = await client.listTools(cursor === undefined ? {} : { cursor });
    listed.push(...tools);
    if (nextCursor === undefined) break;
    cursor = nextCursor;
  }
  return listed;
}

function toolOf(client: McpClient, { name, description, inputSchema }: McpTool): ToolDefinition<JsonSchema> {
  return {
    ...(description !== undefined && { description }),
    schema: inputSchema as JsonSchema,
    async run(args, { signal }) {
      const params = { name, arguments: args as Record<string, unknown> };
      const result = (await client.callTool(params, { signal })) as McpResult;
      const text = textOf(result);
      if (result.isError) throw new Error(text === '' ? 'the tool failed' : text);
      return text === '' ? (result.structuredContent ?? '') : text;
    },
  };
}

function textOf({ content = [] }: McpResult): string {
  return content
    .map((part) => (typeof part.text === 'string' ? part.text : `[${part.type} left out]`))
    .join('\n');
}
