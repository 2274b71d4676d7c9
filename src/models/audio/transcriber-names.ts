// Names of the classes that transcribe sounds, apart from what computes them: a program that opens none of them reads these alone.

export const MOONSHINE_CLASS = 'MoonshineForConditionalGeneration';
export const WHISPER_CLASS = 'WhisperForConditionalGeneration';

/** Classes of transcribers.ts. */
export const TRANSCRIBER_NAMES: readonly string[] = [MOONSHINE_CLASS, WHISPER_CLASS];
