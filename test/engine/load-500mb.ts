// Part of `npm run soak`: two models of 500 MB, one with most of it in the embedding, load with at most 256 MiB of resident
// memory beyond the device's own bytes. Exit code 1 where one takes more.

import { measureLoading } from './load-measured.ts';

const MiB = 2 ** 20;
const common = { hidden: 1024, heads: 16, kvHeads: 4, context: 256 };
const models = {
  '20 layers': { ...common, layers: 20, ffn: 2816, vocabulary: 32_000 },
  'an embedding of 500 MB': { ...common, layers: 1, ffn: 1024, vocabulary: 250_000 },
};

for (const [name, size] of Object.entries(models)) {
  const { stored, device, extra } = measureLoading(size);
  const said = [stored, device, extra].map((bytes) => Math.round(bytes / MiB));
  console.log(`${name}: ${said[0]} MiB stored, ${said[1]} on the device, ${said[2]} beside it`);
  if (extra > 256 * MiB) process.exitCode = 1;
}
