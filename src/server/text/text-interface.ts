// An interface to text models as one value: its fields, how a checked body becomes requests to the engine, and the form of its replies.
// One function makes a route of it.

import { createHash, randomUUID } from 'node:crypto';
import type { TextModel, TextRequest } from '../../index.ts';
import type { Checked, HonouredBody } from '../body/body.ts';
import type { FieldTable } from '../body/fields.ts';
import { type Asked, type BodyRoute, bodyRoute, type Route } from '../service/route.ts';
import type { Endpoints } from '../service/models.ts';
import type { Service } from '../service/service.ts';
import { useTextModel } from '../service/use-model.ts';
import { EVENTS } from '../http/sse.ts';
import { callText, type TextCall } from './text-call.ts';
import { replyText, type Send, type TextForm } from './text-reply.ts';

/** A checked request, and the model that it names. */
export interface AskedText<Body> extends Asked<Body> {
  model: TextModel;
  /** The LoRA that the model's name asks for. */
  adapter?: string;
  fingerprint: string;
}

/** What a request becomes: requests to the engine and the form of their reply, or a reply that needs none. */
export type TextAnswer =
  | {
      requests: readonly TextRequest[];
      /** Gives the engine's errors the names of the client's fields. */
      rename(error: unknown): unknown;
      isStream: boolean;
      form(call: TextCall, send: Send): TextForm;
    }
  | { reply: object };

export interface TextInterface<
  T extends FieldTable,
  R extends keyof HonouredBody<T> & string,
> extends BodyRoute<T, R> {
  /** Routes for other kinds of models, in errors; default: OpenAI's. */
  endpoints?: Endpoints;
  /** A reply for which the model need not be open; undefined: there is none. */
  beforeOpen?(service: Service, body: Checked<T, R> & { model: string }): Promise<object | undefined>;
  /** Milliseconds that the model stays open after the request, where its body says that. */
  keepAlive?(body: Checked<T, R> & { model: string }): number | undefined;
  /** Calls of a stream are sent when they are complete. */
  wholeCalls?: true;
  answer(asked: AskedText<Checked<T, R> & { model: string }>): TextAnswer | Promise<TextAnswer>;
}

export function textRoute<T extends FieldTable, R extends keyof HonouredBody<T> & string = never>(
  face: TextInterface<T, R>,
): Route {
  const schemas = [...(face.schemas ?? []), () => import('./text-reply-schema.ts')];
  return bodyRoute({ ...face, schemas }, async ({ body, ...asked }) => {
    const { service, event } = asked;
    const named = body as typeof body & { model: string };
    const early = await face.beforeOpen?.(service, named);
    if (early) return early;
    const { model, adapter } = await useTextModel(asked, named.model, {
      endpoints: face.endpoints,
      isStream: (body as { stream?: boolean }).stream === true && (face.framing ?? EVENTS).ping !== undefined,
      keepAlive: face.keepAlive?.(named),
    });
    const found = { model, fingerprint: fingerprintOf(model), ...(adapter !== undefined && { adapter }) };
    const answer = await face.answer({ ...asked, body: named, ...found });
    if ('reply' in answer) return answer.reply;
    const { requests, rename, isStream, form } = answer;
    const call = callText(service, event, model, requests, rename);
    const { framing, wholeCalls } = face;
    return replyText(service, event, call, (send) => form(call, send), { isStream, framing, wholeCalls });
  });
}

/** First members of OpenAI's replies. */
export interface ReplyHead<T = string> {
  id: string;
  object: T;
  /** Seconds since 1970. */
  created: number;
  model: string;
  system_fingerprint: string;
}

export function replyHead<T extends string>(
  prefix: string,
  object: T,
  { body, fingerprint }: Pick<AskedText<{ model: string; rid?: string | undefined }>, 'body' | 'fingerprint'>,
): ReplyHead<T> {
  const id = body.rid ?? `${prefix}-${randomUUID()}`;
  return {
    id,
    object,
    created: Math.floor(Date.now() / 1000),
    model: body.model,
    system_fingerprint: fingerprint,
  };
}

function fingerprintOf({ info }: TextModel): string {
  const { name, architecture, parameters, quantization, adapter } = info;
  const identity = JSON.stringify([name, architecture, parameters, quantization, adapter.description]);
  return `fp_${createHash('sha256').update(identity).digest('hex').slice(0, 12)}`;
}
