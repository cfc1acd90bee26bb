/** A label selector. An empty one selects everything. */
export type Selector = {
  readonly labels: Readonly<Record<string, string>>;
  readonly expressions: readonly { readonly key: string; readonly operator: string; readonly values: readonly string[] }[];
};

export type RawSelector = {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] }[];
};

export const readSelector = ({ matchLabels = {}, matchExpressions = [] }: RawSelector): Selector => ({
  labels: matchLabels,
  expressions: matchExpressions.map(({ key, operator, values = [] }) => ({ key, operator, values })),
});

/** Whether an object with these labels is selected. An operator that does not exist selects nothing. */
export function selects({ labels, expressions }: Selector, of: Readonly<Record<string, string>>): boolean {
  return (
    Object.entries(labels).every(([key, value]) => of[key] === value) &&
    expressions.every(({ key, operator, values }) => {
      const value = of[key];
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value);
        case 'NotIn':
          return value === undefined || !values.includes(value);
        case 'Exists':
          return value !== undefined;
        case 'DoesNotExist':
          return value === undefined;
        default:
          return false;
      }
    })
  );
}
