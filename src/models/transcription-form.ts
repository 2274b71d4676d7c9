// How a language model that hears is asked for the text of a sound, as plain data.

/** `{code}` and `{language}` stand for the language that is spoken: de, German. */
export interface Asked {
  /** The text beside the sound in the user's message. */
  user: string;
  /** The text with which the reply begins. */
  reply: string;
}

export interface TranscriptionForm {
  /** Where the language is known, and where it is not; known null: the model cannot be told. */
  transcribe: { known: Asked | null; unknown: Asked };
  /** To English; null: the class does not translate. */
  translate: { known: Asked; unknown: Asked } | null;
  /** Whether a prompt is passed as the system message; otherwise prompts are refused. */
  takesPrompt: boolean;
  /** What stands in the reply between `language <name>` and the text; null: the reply is the text. */
  marker: string | null;
}

const both = (user: string): NonNullable<TranscriptionForm['translate']> => ({
  known: { user: user.replace('speech', 'speech, which is {language}'), reply: '' },
  unknown: { user, reply: '' },
});

/** For classes that follow instructions. */
export const TRANSLATED = both('Translate the speech to English. Answer with the translation alone.');

/** For those of them that have no form of their own. */
export const INSTRUCTED: TranscriptionForm = {
  transcribe: both('Transcribe the speech. Answer with its text alone, in the language that is spoken.'),
  translate: TRANSLATED,
  takesPrompt: true,
  marker: null,
};
