/**
 * A browser may report a language that `Intl` refuses, such as `en-US@posix`. The chart formats its
 * numbers in that language, and could not be loaded.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' });
}

export {};
