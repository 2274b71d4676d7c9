// Finds the served model that a request names, and lists the models for /v1/models.

import { type AnyKind, MODEL_KINDS, type ModelKind, type ModelOf, type TextModel } from '../../index.ts';
import type { H3Event } from 'h3';
import { RequestError } from '../http/errors.ts';
import { mayUse, requireUse, visibleSlots } from './caller.ts';
import { type Candidates, CLIP_ENDPOINT, drawsClips } from './default-model.ts';
import { ownEntry } from './model-entries.ts';
import { commonEntry, downloadEntries, lorasOf, paperEntry } from './model-status.ts';
import type { RouteTable } from './route.ts';
import {
  isOf,
  notReady,
  type Ready,
  requireRunning,
  type ServableModel,
  type Service,
  type Slot,
} from './service.ts';

/** Where an interface sends requests to each kind of model; kinds that it leaves out have OpenAI's routes. */
export type Endpoints = Readonly<Record<string, string>>;

/** How a route finds its model beyond its kind. */
export interface Finding {
  /** Routes for kinds of models, in errors. */
  endpoints?: Endpoints | undefined;
  /** What the route is for, in errors; left out: a model of the kind. */
  wanted?: Pick<AnyKind, 'article' | 'noun'> | undefined;
  /** Left out: `default` may mean any model of the kind. */
  candidates?: Candidates | undefined;
}

/**
 * Returns the model of a kind that a request names: by its full name, its last segment, or `default`, which is the first model of
 * that kind.
 */
export function findModel<K extends AnyKind>(
  service: Service,
  kind: K | readonly K[],
  requested: string,
): Ready<ModelOf<K>> {
  const slot = slotFor(service, kind, requested);
  if (slot.phase.name !== 'ready') throw notReady(slot);
  return slot.phase.ready as unknown as Ready<ModelOf<K>>;
}

/** Returns the place of the model that a request names, open or not. Throws model_not_found, and unsupported for a model of another kind. */
export function slotFor(
  { slots }: Service,
  kind: AnyKind | readonly AnyKind[],
  requested: string,
  finding: Finding = {},
): Slot {
  const { candidates = (all) => all } = finding;
  const kinds = [kind].flat();
  const fits = (slot: Slot): boolean => kinds.some((one) => mayBe(one, slot));
  // If several kinds of model share a name, the wanted kind comes first.
  const ordered = [...slots.filter(fits), ...slots];
  const name = plainName(slots, requested);
  const fitting = slots.filter(fits);
  const first = (): Slot | undefined =>
    firstOf(candidates(fitting.filter(({ names }) => mayUse(names)))) ?? firstOf(candidates(fitting));
  const slot = slotNamed(ordered, name) ?? (name === 'default' ? first() : undefined);
  if (!slot) throw noModel(slots, kinds[0]!, requested, finding);
  if (!fits(slot)) throw wrongEndpoint(slot, requested, finding);
  requireUse(slot.names);
  return slot;
}

/** The model that is meant where none is named: one that stays, else one that is open, else the first. */
function firstOf(slots: readonly Slot[]): Slot | undefined {
  const stays = slots.find(({ demand }) => !demand);
  return stays ?? slots.find(({ phase }) => phase.name === 'ready') ?? slots[0];
}

/** `adapter` is '' if the request names none. */
export function splitName({ slots }: Service, requested: string): { base: string; adapter: string } {
  const whole = plainName(slots, requested);
  if (slotNamed(slots, whole)) return { base: whole, adapter: '' };
  const names = slots.flatMap((slot) => slot.names);
  const [base = whole] = ['default', ...names, ...names.map(lastSegment)]
    .filter((name) => whole.startsWith(`${name}:`))
    .toSorted((a, b) => b.length - a.length);
  return { base, adapter: whole.slice(base.length + 1).trim() };
}

/**
 * The name that is meant: without its tag, since clients that read Ollama's list of models use its tagged names on every route, and
 * `default` for the name that SGLang's router gives to requests that name no model.
 */
function plainName(slots: readonly Slot[], requested: string): string {
  if (slots.some(({ names }) => names.includes(requested))) return requested;
  return requested === UNNAMED ? 'default' : requested.replace(/:latest$/, '');
}

const UNNAMED = 'unknown';

/** Whether a request leaves the model to the server. */
export function isDefault({ slots }: Service, requested: string): boolean {
  const name = plainName(slots, requested);
  return name === 'default' && !slotNamed(slots, name);
}

/** A model that is not open yet may turn out to be of any kind. */
function mayBe(kind: AnyKind, slot: Slot): boolean {
  return slot.kind === null || slot.kind.name === kind.name;
}

/** The models of a kind that are ready and that the caller may use, with their names. */
export function modelsOf<M extends ServableModel>(
  service: Service,
  kind: ModelKind<never, M>,
): { names: string[]; model: M }[] {
  return visibleSlots(service).flatMap(({ names, phase }) =>
    phase.name === 'ready' && isOf(kind, phase.ready) ? [{ names, model: phase.ready.model }] : [],
  );
}

function slotNamed(slots: readonly Slot[], requested: string): Slot | undefined {
  return (
    slots.find(({ names }) => names.includes(requested)) ??
    slots.find(({ names }) => names.some((name) => lastSegment(name) === requested))
  );
}

/** The error for a request that finds no model of a kind, with what there is. */
export function noModel(
  slots: readonly Slot[],
  kind: AnyKind,
  requested: string,
  { endpoints = {}, wanted }: Finding = {},
): RequestError {
  const unnamed = slots.find(({ names, phase }) => names.length === 0 && phase.name === 'starting');
  if (unnamed) return notReady(unnamed);
  const shown = visibleSlots({ slots });
  const missing = (what: string): RequestError =>
    new RequestError('model_not_found', `there is no ${what}`, { param: 'model' });
  const model = `model ${JSON.stringify(requested)} here`;
  if (slots.length === 0)
    return missing(
      `${model}, nor any other: put one into the folder of --models-dir, or fetch one with POST /models`,
    );
  if (shown.length === 0) return missing(`${model}, nor any other that this key may use`);
  const { noun, endpoint } = { ...purposeOf(kind, endpoints), ...wanted };
  return shown.some((slot) => mayBe(kind, slot))
    ? missing(`${model}; this server has ${shown.flatMap(({ names }) => names).join(', ')}`)
    : missing(
        `${noun} here for ${endpoint}; this server has ${shown.map((slot) => describeSlot(slot, endpoints)).join(', ')}`,
      );
}

type Purpose = Pick<AnyKind, 'article' | 'noun' | 'endpoint'>;

function purposeOf(kind: AnyKind | null, endpoints: Endpoints): Purpose {
  const { name, article, noun, endpoint } = kind ?? MODEL_KINDS.text;
  return { article, noun, endpoint: endpoints[name] ?? endpoint };
}

function purposeOfSlot(slot: Slot, endpoints: Endpoints = {}): Purpose {
  const purpose = purposeOf(slot.kind, endpoints);
  return drawsClips(slot) ? { ...purpose, endpoint: CLIP_ENDPOINT } : purpose;
}

function describeSlot(slot: Slot, endpoints: Endpoints): string {
  const { noun, endpoint } = purposeOfSlot(slot, endpoints);
  return `the ${noun} ${slot.names.join(', ')} at ${endpoint}`;
}

function wrongEndpoint(slot: Slot, requested: string, { endpoints, wanted }: Finding): RequestError {
  const { article, noun, endpoint } = purposeOfSlot(slot, endpoints);
  const not = wanted ? `, not ${wanted.article} ${wanted.noun}` : '';
  return new RequestError('unsupported', `${requested} is ${article} ${noun}${not}; send it to ${endpoint}`, {
    param: 'model',
  });
}

/** Models that are ready or opened on demand, and the LoRAs loaded with them. */
async function modelList(service: Service) {
  requireRunning(service);
  await service.onDemand?.catalog.refresh();
  const data = await Promise.all(visibleSlots(service).map((slot) => entriesOf(slot, service.startedAt)));
  return { object: 'list', data: [...data.flat(), ...downloadEntries(service)] };
}

async function entriesOf(slot: Slot, created: number) {
  const { names, phase, demand } = slot;
  if (phase.name !== 'ready') return demand ? [paperEntry(slot, demand, created)] : [];
  const { ready } = phase;
  const adapters = isOf<TextModel>(MODEL_KINDS.text, ready) ? await lorasOf(ready.model) : [];
  const [base = ''] = names;
  return [
    ...names.map((name) => entryOf(slot, ready, name, created)),
    ...adapters.map(({ name, path }) => ({
      ...entryOf(slot, ready, `${base}:${name}`, created),
      root: path,
      parent: base,
    })),
  ];
}

/**
 * GET /v1/models/…: a model's name may contain slashes. Models and LoRAs are found by every name that requests may use for them.
 */
async function modelEntry(service: Service, { url }: H3Event) {
  requireRunning(service);
  await service.onDemand?.catalog.refresh();
  const requested = nameIn(url);
  const { slots, startedAt } = service;
  const { base, adapter } = splitName(service, requested);
  const first = slots.find((one) => adapter === '' || mayBe(MODEL_KINDS.text, one));
  const slot = slotNamed(slots, base) ?? (base === 'default' ? first : undefined);
  if (!slot) throw noModel(slots, slots[0]?.kind ?? MODEL_KINDS.text, requested);
  requireUse(slot.names);
  if (slot.phase.name !== 'ready') {
    if (slot.demand && adapter === '') return paperEntry(slot, slot.demand, startedAt);
    throw notReady(slot);
  }
  const { names } = slot;
  if (adapter !== '') {
    const entries = await entriesOf(slot, startedAt);
    const entry = entries.find(({ id, parent }) => parent !== null && id === `${parent}:${adapter}`);
    if (!entry) throw noModel(slots, MODEL_KINDS.text, requested);
    return entry;
  }
  const id =
    names.find((name) => name === base) ??
    names.find((name) => lastSegment(name) === base) ??
    names[0] ??
    requested;
  return entryOf(slot, slot.phase.ready, id, startedAt);
}

function entryOf(slot: Slot, ready: Ready, id: string, created: number) {
  return { ...commonEntry(slot, id, created), ...ownEntry(ready) };
}

/** The name of a model in the address /v1/models/…. */
export const nameIn = ({ pathname }: URL): string => decode(pathname.slice('/v1/models/'.length));

/** Decodes a path segment; returns it unchanged if its escapes are invalid. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

const COMMON = { group: 'Models', schemas: [() => import('./model-reply-schema.ts')] } as const;

export const MODEL_ROUTES: RouteTable = {
  '/v1/models': {
    GET: {
      handle: modelList,
      summary: 'The models that are ready or opened on demand, with their states.',
      ...COMMON,
      reply: 'Models',
    },
  },
  '/v1/models/**': {
    GET: { handle: modelEntry, summary: 'A model by its name.', ...COMMON, reply: 'Model' },
  },
};
