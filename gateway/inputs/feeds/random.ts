/** Random numbers: sfc32 (Chris Doty-Humphrey, PractRand), and Marsaglia's polar method. */

/** On [0, 1), in steps of 2^-32. */
export function uniformRandom(seed: string): () => number {
  const mix = seedWords(seed);
  let a = mix();
  let b = mix();
  let c = mix();
  let counter = 1;
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 4_294_967_296;
  };
  // Similar seeds yield similar first outputs, so drop twelve, as the generator's author does.
  for (let i = 0; i < 12; i++) next();
  return next;
}

export function normalRandom(uniform: () => number): () => number {
  let spare: number | null = null;
  return () => {
    if (spare !== null) {
      const kept = spare;
      spare = null;
      return kept;
    }
    for (;;) {
      const x = 2 * uniform() - 1;
      const y = 2 * uniform() - 1;
      const square = x * x + y * y;
      if (square >= 1 || square === 0) continue;
      const scale = Math.sqrt((-2 * Math.log(square)) / square);
      spare = y * scale;
      return x * scale;
    }
  };
}

/** xmur3: 32-bit words, each depending on every character of the text (MurmurHash3's mixing). */
function seedWords(text: string): () => number {
  let hash = 1_779_033_703 ^ text.length;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 3_432_918_353);
    hash = (hash << 13) | (hash >>> 19);
  }
  return () => {
    hash = Math.imul(hash ^ (hash >>> 16), 2_246_822_507);
    hash = Math.imul(hash ^ (hash >>> 13), 3_266_489_909);
    hash ^= hash >>> 16;
    return hash;
  };
}
