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
  /** Query parameters and their descriptions. */
  query?: Readonly<Record<string, string>>;
  /** Reply on success: a media type, or the name of the schema of its JSON. A route that always refuses has neither. */
  gives?: string;
  reply?: ReplyName;
  /** Schema of the JSON of a stream's events or lines. */
  event?: ReplyName;
  /** The stream ends with `data: [DONE]`. */
  marker?: true;
  /** Schema of the JSON of a 503, where that is not an error. */
  notReady?: ReplyName;
  /** `open`: needs no key. `admin`: needs the key of --admin-api-key, if that is set. */
  access?: 'open' | 'admin';
  /** Form of the route's errors; default: OpenAI's. */
  envelope?: 'anthropic' | 'ollama';
  /** The address in the table for which this one is an alternative spelling. */
  aliasOf?: string;
}

export type RouteTable = Readonly<Record<string, Partial<Record<Method, Route>>>>;

/** Another spelling of an address in the table. */
export const alias = (aliasOf: string, route: Route): Route => ({ ...route, aliasOf });
