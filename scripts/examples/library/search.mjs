// Embeddings: the texts that are nearest to a question. No embedding model ships; the default is downloaded from the hub once (1.2 GB).
//   node search.mjs ["a question" [model]]

import { openEmbeddingModel } from 'svc-engine';

const [question = 'Which animal gives milk?', path = 'Qwen/Qwen3-Embedding-0.6B'] = process.argv.slice(2);

const texts = [
  'Cows are kept on meadows and milked twice a day.',
  'The river froze in January.',
  'A telescope collects light with a mirror.',
  'Bread rises because yeast makes gas.',
];

const model = await openEmbeddingModel({ model: path });
const vectors = [];
for await (const event of model.generate({ inputs: [question, ...texts] }))
  if (event.type === 'embedding') vectors[event.index] = event.values;
await model.close();

const [asked, ...others] = vectors;
const length = (vector) => Math.hypot(...vector);
const product = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const ranked = texts
  .map((text, i) => ({ text, similarity: product(asked, others[i]) / (length(asked) * length(others[i])) }))
  .sort((a, b) => b.similarity - a.similarity);
for (const { text, similarity } of ranked) console.log(similarity.toFixed(3), text);
