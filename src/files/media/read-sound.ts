// Sounds in Node: containers are decoded by the optional package.

import { containerPieces } from './sound-container.ts';
import { soundReader } from './sound-reader.ts';

export const readSound = soundReader(containerPieces);
