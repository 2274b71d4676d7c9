// A route: its handler, who may call it, and its entry in the API page.

import type { H3Event } from 'h3';
import type { z } from 'zod';
import { type BodyRules, bodyChecker, type Checked, type HonouredBody } from '../body/body.ts';
import type { FieldTable } from '../body/fields.ts';
import { readJson } from '../body/json-body.ts';
import type { Envelope } from '../http/errors.ts';
import type { Framing } from '../http/sse.ts';
import { listIgnored } from './model-call.ts';
import { requireRunning, type Service } from './service.ts';

export type Method = 'GET' | 'POST' | 'DELETE';

/** Loads schemas of replies by their names in /openapi.json; the server needs them for that document only. */
export type ReplySchemas = () => Promise<Readonly<Record<string, z.ZodType>>>;

/** A route without its handler: its entry in the API page. */
export interface RouteEntry {
  /** A sentence about the route. */
  summary: string;
  group:
    | 'Text'
    | 'Embeddings'
    | 'Audio'
    | 'Images'
    | 'Videos'
    | 'Batches'
    | 'Models'
    | 'Ollama'
    | 'Server'
    | 'Administration';
  /** Fields of the JSON body. */
  fields?: FieldTable;
  /** Fields without a default, which cannot be left out. */
  required?: readonly string[];
  /** The body is a form with these fields. */
  form?: FieldTable;
  /** Query parameters and their descriptions. */
  query?: Readonly<Record<string, string>>;
  /** Media type of a reply that is not JSON. A route that always refuses has neither this nor `reply`. */
  gives?: string;
  /** Name of the schema of the reply. */
  reply?: string;
  /** Name of the schema of a stream's events or lines. */
  event?: string;
  /** Name of the schema of a 503, where that is not an error. */
  notReady?: string;
  /** The schemas under those names, and those that they refer to. */
  schemas?: readonly ReplySchemas[];
  /** Form of the stream; default: server-sent events. */
  framing?: Framing;
  /** `open`: needs no key. `admin`: needs the key of --admin-api-key, if that is set. */
  access?: 'open' | 'admin';
  /** Form of the route's errors; default: OpenAI's. */
  errors?: Envelope;
  /** The address in the table for which this one is an alternative spelling. */
  aliasOf?: string;
}

export interface Route extends RouteEntry {
  handle(service: Service, event: H3Event): unknown;
}

export type RouteTable = Readonly<Record<string, Partial<Record<Method, Route>>>>;

/** Another spelling of an address in the table. */
export const alias = (aliasOf: string, route: Route): Route => ({ ...route, aliasOf });

/** A request whose body has passed its check. */
export interface Asked<Body> {
  service: Service;
  event: H3Event;
  body: Body;
  /** Names in the body that nothing reads. */
  ignored: string[];
}

/** A route with a JSON body, which is checked against the route's own table of fields. */
export interface BodyRoute<T extends FieldTable, R extends keyof HonouredBody<T> & string = never>
  extends Omit<RouteEntry, 'fields' | 'required'>, BodyRules<T, R> {
  /** Reads the body; default: JSON with its content type. */
  read?(request: Request): Promise<unknown>;
}

export function bodyRoute<T extends FieldTable, R extends keyof HonouredBody<T> & string = never>(
  { read = readJson, ...rules }: BodyRoute<T, R>,
  answer: (asked: Asked<Checked<T, R>>) => unknown,
): Route {
  const check = bodyChecker(rules);
  return {
    ...rules,
    async handle(service, event) {
      requireRunning(service);
      const { body, ignored } = check(await read(event.req), service.options.strict);
      listIgnored(event, ignored);
      return answer({ service, event, body, ignored });
    },
  };
}
