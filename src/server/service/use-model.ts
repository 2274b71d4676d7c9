// Finds the model of a request, opens it first if it is opened on demand, and keeps it open until the reply has ended.

import { type H3Event, onDispose } from 'h3';
import { type AnyKind, MODEL_KINDS, type ModelOf, type TextModel } from '../../index.ts';
import { RequestError } from '../http/errors.ts';
import { type Finding, slotFor, splitName } from './models.ts';
import { whileClientWaits } from './model-call.ts';
import { notReady, type Ready, type Service, type Slot } from './service.ts';

/** A request that is being answered. */
export interface Asking {
  service: Service;
  event: H3Event;
}

export interface UseModelOptions extends Finding {
  /** The reply is a stream that may begin with comments while the model is opened. */
  isStream?: boolean | undefined;
  /** Milliseconds that a model which is opened on demand stays open after this request. */
  keepAlive?: number | undefined;
}

/**
 * Returns the open model of a kind that a request names, as findModel does. Throws in addition what opening the model throws, and cancelled
 * where the client leaves before.
 */
export async function useModel<K extends AnyKind>(
  asking: Asking,
  kind: K | readonly K[],
  requested: string,
  options: UseModelOptions = {},
): Promise<Ready<ModelOf<K>>> {
  const slot = await findSlot(asking.service, kind, requested, options);
  await keepOpen(asking, slot, options);
  if (slot.phase.name !== 'ready') throw notReady(slot);
  return slot.phase.ready as unknown as Ready<ModelOf<K>>;
}

/** Finds a text model; `name:LoRA` means a model with a LoRA, unless the whole is a served name. */
export async function useTextModel(
  asking: Asking,
  requested: string,
  options: UseModelOptions = {},
): Promise<Ready<TextModel> & { adapter?: string }> {
  const { base, adapter } = splitName(asking.service, requested);
  const found = await useModel(asking, MODEL_KINDS.text, base, options);
  return { ...found, ...(adapter !== '' && { adapter }) };
}

/** The slot of a model; one that nobody knows may have been added meanwhile. */
export async function findSlot(
  service: Service,
  kind: AnyKind | readonly AnyKind[],
  requested: string,
  finding: Finding = {},
): Promise<Slot> {
  try {
    return slotFor(service, kind, requested, finding);
  } catch (error) {
    const isUnknown = error instanceof RequestError && error.code === 'model_not_found';
    if (!isUnknown || !service.onDemand) throw error;
    await service.onDemand.catalog.refresh();
    return slotFor(service, kind, requested, finding);
  }
}

async function keepOpen(
  { service, event }: Asking,
  { demand }: Slot,
  options: UseModelOptions,
): Promise<void> {
  const { onDemand } = service;
  if (!demand || !onDemand) return;
  const { keepAlive, isStream } = options;
  const { kept } = event.context;
  const opened = isStream ? event.context.opens?.(() => demand.progress) : undefined;
  const end = await whileClientWaits(service, event, `${demand.name} was open`, (signal) =>
    onDemand.catalog.use(demand, { signal, ...(keepAlive !== undefined && { keepAlive }) }),
  );
  // A stream that is kept goes on without its connection.
  onDispose(event, () => (kept ? kept.whenEnded(end) : end()));
  opened?.();
  event.context.opens = undefined;
}

/** Keeps a model open beyond the reply to the request that uses it; returns a function that ends that. */
export function holdModel({ slots, onDemand }: Service, model: object): () => void {
  const slot = slots.find(({ phase }) => phase.name === 'ready' && phase.ready.model === model);
  return slot?.demand && onDemand ? onDemand.catalog.hold(slot.demand) : () => {};
}
