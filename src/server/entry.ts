// The one file of the server that other rooms import: starting it, its models, and how the process ends.

export { endBy } from './end-process.ts';
export type { CatalogLimits, FoundModel, ModelSource, PlannedMemory } from './catalog/model-source.ts';
export type { ServedCatalog } from './service/open-on-demand.ts';
export { type RunningServer, type ServedModel, startServer, untilSignal } from './lifecycle.ts';
export type { ServableModel, ServerOptions } from './service/service.ts';
