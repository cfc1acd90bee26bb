export type PseudoRandom = (below: number) => number;

/** Numbers from 0 to below a limit, determined by a seed so that a failure can be reproduced. */
export function pseudoRandom(seed: number): PseudoRandom {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export const oneOf = <T>(random: PseudoRandom, choices: readonly [T, ...T[]]): T => choices[random(choices.length)] ?? choices[0];
