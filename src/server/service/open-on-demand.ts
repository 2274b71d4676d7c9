// The models of a catalog as served ones: each has a slot, whose phase follows the model's state.

import { bytesText } from '../../files/bytes-text.ts';
import { Catalog } from '../catalog/catalog.ts';
import { Downloads } from '../catalog/downloads.ts';
import type { CatalogLimits, ModelSource } from '../catalog/model-source.ts';
import { memoryOf, type OnDemandModel } from '../catalog/on-demand-model.ts';
import type { Holder } from '../catalog/room.ts';
import { fillSlot, noteProgress, type Service, type Slot, starting, tellChange } from './service.ts';

export interface ServedCatalog {
  /** Names of the models that are listed now. */
  names(): string[];
  /** Ends what waits, and closes the models that are open. */
  close(): Promise<void>;
}

/** Serves the models of a source beside those that the server has. A model whose name one of those has is not listed. */
export async function openOnDemand(
  service: Service,
  source: ModelSource,
  limits: CatalogLimits,
): Promise<ServedCatalog> {
  const { slots, log } = service;
  const slotOf = (model: OnDemandModel): Slot | undefined => slots.find(({ demand }) => demand === model);
  const catalog = new Catalog(source, limits, {
    changed(model) {
      let slot = slotOf(model);
      if (!slot) {
        // One that is no longer listed may still be closed.
        if (!catalog.models.includes(model) || slots.some(({ names }) => names.includes(model.name))) return;
        slot = {
          names: [model.name],
          kind: model.found.kind,
          phase: { name: 'unloaded', reason: null },
          demand: model,
        };
        slots.push(slot);
      }
      follow(service, slot, model);
      sayOpened(log, model);
      tellChange(service, { slot });
    },
    removed(model) {
      const slot = slotOf(model);
      if (!slot) return;
      slots.splice(slots.indexOf(slot), 1);
      tellChange(service, { slot, isGone: true });
    },
    trouble: (message) => log.warn(message),
    others: () => ({ holders: fixedHolders(slots), areSettled: areSettled(slots) }),
  });
  const downloads = new Downloads(source, () => catalog.refresh(), {
    changed: (download) => tellChange(service, { download }),
    ended(download, error) {
      if (error !== null) log.warn(`${download.id} was not fetched: ${error.message}`);
      tellChange(service, { download, isOver: true, error });
    },
  });
  await catalog.refresh();
  service.onDemand = { catalog, downloads };
  // Models of the catalog are opened after those that the server was started with.
  service.watchers.add((change) => {
    if (!('slot' in change) || change.slot.demand) return;
    hideNamesakes(slots, change.slot);
    catalog.reconsider();
  });
  return {
    names: () => catalog.models.map(({ name }) => name),
    async close() {
      await downloads.end();
      await catalog.close();
    },
  };
}

/** Takes models off the list that are called like one which stays open, whose name is known once it is. */
function hideNamesakes(slots: Slot[], { names }: Slot): void {
  for (const one of slots.filter(({ demand }) => demand?.state === 'unloaded'))
    if (one.names.some((name) => names.includes(name))) slots.splice(slots.indexOf(one), 1);
}

/** Says in the log what is open now, and what is not any more. */
function sayOpened(log: Service['log'], { name, state, memory, uses }: OnDemandModel): void {
  if (state === 'loaded') log.info(`Open: ${name}, ${bytesText(memory)} on the device`);
  else if (state === 'closing' && uses === 0) log.info(`Closed: ${name}`);
}

/** Sets the phase of a slot by the state of its model. */
function follow(service: Service, slot: Slot, model: OnDemandModel): void {
  const { state, progress } = model;
  if (state === 'loaded' && model.model) {
    fillSlot(service, slot, model.model);
  } else if (state === 'waiting' || state === 'loading') {
    if (slot.phase.name !== 'starting') slot.phase = starting();
    if (progress) noteProgress(slot, progress);
  } else slot.phase = { name: 'unloaded', reason: model.error?.message ?? null };
}

const fixed = (slots: readonly Slot[]): Slot[] => slots.filter(({ demand }) => !demand);

const areSettled = (slots: readonly Slot[]): boolean =>
  fixed(slots).every(({ phase }) => phase.name !== 'starting');

/** What the models take that the server was started with. */
function fixedHolders(slots: readonly Slot[]): Holder[] {
  return fixed(slots).flatMap(({ phase }) =>
    phase.name === 'ready'
      ? [
          {
            memory: memoryOf(phase.ready.model, null),
            isPinned: true,
            isBusy: false,
            isClosing: false,
            lastUsed: 0,
          },
        ]
      : [],
  );
}
