// A route: its handler, who may call it, and its entry in the API page.

import type { H3Event } from 'h3';
import type { FieldTable } from './body/fields.ts';
import type * as replies from './docs/replies.ts';
import type { Service } from './service.ts';

export type Method = 'GET' | 'POST' | 'DELETE';

/** Name of a schema, also in /openapi.json. */
export type ReplyName = keyof typeof replies;

export interface Route {
  handle(service: Service, event: H3Event): unknown;
  /** A sentence about the route. */
  summary: string;
  group: 'Text' | 'Embeddings' | 'Images' | 'Models' | 'Ollama' | 'Server' | 'Administration';
  /** Fields of the JSON body. */
  fields?: FieldTable;
  /** Fields without a default, which cannot be left out. */
  required?: readonly string[];
  /** The body is a form with these fields. */
  form?: FieldTable;
  /** Names of the query. */
  query?: Readonly<Record<string, string>>;
  /** Reply of the route on success: a media type, or the schema of its JSON. A route that always refuses has neither. */
  gives?: string;
  reply?: ReplyName;
  /** The JSON of a stream's events or lines. */
  event?: ReplyName;
  /** `data: [DONE]` ends its stream. */
  marker?: true;
  /** The JSON of its 503, where that is no error. */
  notReady?: ReplyName;
  /** `open`: asked without the key. `admin`: with that of --admin-api-key, where there is one. */
  access?: 'open' | 'admin';
  /** Form of its errors; left out: OpenAI's. */
  envelope?: 'anthropic' | 'ollama';
  /** The address of the table that this is another spelling of. */
  aliasOf?: string;
}

export type RouteTable = Readonly<Record<string, Partial<Record<Method, Route>>>>;

/** Another spelling of an address of the table. */
export const alias = (aliasOf: string, route: Route): Route => ({ ...route, aliasOf });
