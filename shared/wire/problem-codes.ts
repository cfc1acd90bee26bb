/** The code of a problem that keeps a source from being read at all: what it said before stays. */
export const SOURCE_FAILED = 'source_failed';
