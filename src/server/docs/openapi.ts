// GET /openapi.json: the interface as OpenAPI 3.1, made from the table of routes and the tables of their fields.

import { z } from 'zod';
import type { Field, FieldTable } from '../body/fields.ts';
import { OPENAI_ERRORS } from '../http/errors.ts';
import { EVENTS } from '../http/sse.ts';
import type { Method, ReplySchemas, Route, RouteTable } from '../service/route.ts';

export interface JsonSchema {
  description?: string;
  /** The address of a schema. */
  $ref?: string;
  /** Status of a field. */
  'x-svc-status'?: string;
  [keyword: string]: unknown;
}

interface Reply {
  description: string;
  /** By media type. */
  content: Record<string, { schema: JsonSchema }>;
}

export interface ApiOperation {
  summary: string;
  tags: string[];
  operationId: string;
  security?: object[];
  parameters?: { name: string; in: string; required: boolean; description: string; schema: JsonSchema }[];
  requestBody?: { required: boolean; content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, Reply>;
  /** The address that this is another spelling of. */
  'x-svc-alias-of'?: string;
}

export interface OpenApi {
  openapi: string;
  info: { title: string; version: string; description: string };
  tags: { name: string }[];
  paths: Record<string, Partial<Record<Lowercase<Method>, ApiOperation>>>;
  components: { securitySchemes: object; schemas: Record<string, JsonSchema> };
  security: object[];
}

export async function openApi(routes: RouteTable, version: string): Promise<OpenApi> {
  const groups = new Set<string>();
  const paths: OpenApi['paths'] = {};
  for (const [path, methods] of Object.entries(routes)) {
    for (const [method, route] of Object.entries(methods)) {
      groups.add(route.group);
      const at = pathOf(path);
      paths[at] = { ...paths[at], [method.toLowerCase()]: operationOf(path, method, route) };
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc-engine',
      version,
      description: 'Local AI on any GPU. Errors say what is wrong, with which value, and what to do.',
    },
    tags: [...groups].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'Where the server was started with --api-key.' },
        admin: { type: 'http', scheme: 'bearer', description: 'Where it has --admin-api-key: that one.' },
      },
      schemas: jsonSchemas(await replySchemas(routes)),
    },
    security: [{ key: [] }, {}],
  };
}

/** The wildcard of `/v1/models/**` stands for a model's name, which may contain slashes. */
const pathOf = (path: string): string => path.replace('**', '{name}').replace(/:(\w+)/g, '{$1}');

function operationOf(path: string, method: string, route: Route): ApiOperation {
  const { summary, group, fields, form, access, aliasOf } = route;
  const at = pathOf(path);
  const inPath = [...at.matchAll(/\{(\w+)\}/g)].map(([, name]) => parameter(name!, 'path', ''));
  const inQuery = Object.entries(route.query ?? {}).map(([name, help]) => parameter(name, 'query', help));
  const parameters = [...inPath, ...inQuery];
  return {
    summary,
    tags: [group],
    operationId: `${method.toLowerCase()}${at.replace(/[^a-z0-9]+(\w)?/gi, (_, next: string = '') => next.toUpperCase())}`,
    ...(aliasOf !== undefined && { 'x-svc-alias-of': aliasOf }),
    ...(access === 'open' && { security: [] }),
    ...(access === 'admin' && { security: [{ admin: [] }, {}] }),
    ...(parameters.length > 0 && { parameters }),
    ...((fields ?? form) && { requestBody: requestBody({ fields, form }, route.required) }),
    responses: responsesOf(route),
  };
}

function requestBody({ fields, form }: Pick<Route, 'fields' | 'form'>, required: readonly string[] = []) {
  const content = {
    ...(fields && { 'application/json': { schema: bodySchema(fields, required) } }),
    ...(form && { 'multipart/form-data': { schema: bodySchema(form, required) } }),
  };
  return { required: required.length > 0, content };
}

function bodySchema(table: FieldTable, required: readonly string[]): JsonSchema {
  const properties = Object.fromEntries(
    Object.entries(table).map(([name, field]) => [name, fieldSchema(field)]),
  );
  return { type: 'object', properties, ...(required.length > 0 && { required: [...required] }) };
}

function responsesOf(route: Route): ApiOperation['responses'] {
  const { gives, reply, event, notReady, framing = EVENTS, errors = OPENAI_ERRORS } = route;
  const ok = {
    ...(gives !== undefined && { [gives]: { schema: { type: 'string' } } }),
    ...(reply && json(reply)),
    ...(event && { [framing.type]: { schema: { ...refTo(event), description: framing.help } } }),
  };
  return {
    ...(Object.keys(ok).length > 0 && { 200: { description: 'What was asked for.', content: ok } }),
    ...(notReady && { 503: { description: 'Not yet, or no longer.', content: json(notReady) } }),
    default: { description: 'What is wrong.', content: json(errors.schema) },
  };
}

const json = (name: string) => ({ 'application/json': { schema: refTo(name) } });

const addressOf = (name: string): string => `#/components/schemas/${name}`;

const refTo = (name: string): JsonSchema => ({ $ref: addressOf(name) });

/** Schemas of the replies and events of routes and of their errors, by name. */
export async function replySchemas(routes: RouteTable): Promise<Record<string, z.ZodType>> {
  const loaders = new Set<ReplySchemas>([() => import('../http/error-reply-schema.ts')]);
  for (const { schemas = [] } of Object.values(routes).flatMap((methods) => Object.values(methods)))
    for (const load of schemas) loaders.add(load);
  const named = (await Promise.all([...loaders].map((load) => load()))).flatMap((loaded) =>
    Object.entries(loaded),
  );
  return Object.fromEntries(named.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** JSON schemas of all replies; a schema inside another one is a reference. */
function jsonSchemas(replies: Record<string, z.ZodType>): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(replies)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: addressOf,
    override({ jsonSchema }) {
      // The bounds of exact numbers in JavaScript, which zod adds to every integer.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, made]) => {
      const { $schema: _, $id: __, ...schema } = made;
      return [id, schema];
    }),
  );
}

function parameter(name: string, place: string, description: string) {
  return { name, in: place, required: place === 'path', description, schema: { type: 'string' } };
}

const STATUSES: Record<string, string> = {
  'neutral-only': 'Not built: only a value that asks for nothing passes.',
  'no-effect': 'Has no effect on a local server.',
};

function fieldSchema(field: Field): JsonSchema {
  const { help, status, schema, default: fallback, defaultText, stricter } = field;
  const notes = [
    help,
    STATUSES[status],
    stricter && `Limit: ${stricter}.`,
    defaultText && `Default: ${defaultText}.`,
  ];
  return {
    ...valueSchema(schema),
    description: notes.filter(Boolean).join(' '),
    ...(fallback !== undefined && defaultText === undefined && { default: fallback }),
    'x-svc-status': status,
  };
}

function valueSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...made } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // The only custom schema of zod in use is that of a file.
      if (zodSchema instanceof z.ZodCustom) Object.assign(jsonSchema, { type: 'string', format: 'binary' });
    },
  });
  return made;
}
