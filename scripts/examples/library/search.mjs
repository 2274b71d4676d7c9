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
for (const { score, text } of await model.rank(question, texts)) console.log(score.toFixed(3), text);
await model.close();
