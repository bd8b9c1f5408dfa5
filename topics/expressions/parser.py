"""From tokens to the tree, by precedence climbing.

From loosest to tightest: `or`, `and`, `not`, comparisons with `in` and `is null`, `+ -`, `* / // %`, unary `-`, then
calls, `.name` and `[index]`. Comparisons may be chained. The limits on depth and size hold while the tree grows, so
no text can make it large first.
"""

from topics.expressions.errors import ExpressionError, Problem, did_you_mean, nearest_word
from topics.expressions.limits import MAX_DEPTH, MAX_PRODUCTS, MAX_SIZE
from topics.expressions.tokens import FOREIGN_SIGNS, KEYWORDS, Token, TokenKind, tokenize
from topics.expressions.tree import (
    Arithmetic,
    ArithmeticOp,
    Call,
    Comparison,
    ComparisonOp,
    Field,
    IsNull,
    Item,
    ListOf,
    Literal,
    Logic,
    Membership,
    Negative,
    Not,
    Tree,
)

_COMPARISONS: dict[str, ComparisonOp] = {"==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_SUMS: dict[str, ArithmeticOp] = {"+": "+", "-": "-"}
_PRODUCTS: dict[str, ArithmeticOp] = {"*": "*", "/": "/", "//": "//", "%": "%"}
_WORD_CONSTANTS: dict[str, bool | None] = {"null": None, "true": True, "false": False}


def parse_tree(text: str) -> Tree:
    """The tree of `text`; raises ExpressionError where the text leaves the syntax or a limit."""
    return _Parser(text).whole()


class _Parser:
    """Reads the tokens of one text from left to right. `_extents`: (size, depth) of each part so far, by its id."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._at = 0
        self._brackets = 0
        self._products = 0
        self._extents: dict[int, tuple[int, int]] = {}

    def whole(self) -> Tree:
        tree = self._either()
        if self._next.kind is not TokenKind.END:
            raise self._unexpected("an operator or the end")
        return tree

    # One method for each level of precedence, loosest first.

    def _either(self) -> Tree:
        self._enter()
        operands = [self._both()]
        while self._take("or"):
            operands.append(self._both())
        self._brackets -= 1
        return self._joined("or", operands)

    def _both(self) -> Tree:
        operands = [self._negated()]
        while self._take("and"):
            operands.append(self._negated())
        return self._joined("and", operands)

    def _negated(self) -> Tree:
        column = self._next.column
        if not self._take("not"):
            return self._compared()
        self._enter()
        operand = self._negated()
        self._brackets -= 1
        return self._made(Not(operand, column=column))

    def _compared(self) -> Tree:
        left = self._sum()
        links: list[Tree] = []
        while (sign := self._next).kind is TokenKind.SIGN and sign.value in _COMPARISONS:
            self._at += 1
            right = self._sum()
            links.append(self._made(Comparison(_COMPARISONS[str(sign.value)], left, right, column=sign.column)))
            left = right
        if links:
            return self._joined("and", links)
        column = self._next.column
        if self._take("is"):
            negative = self._take("not")
            self._need("null")
            test: Tree = self._made(IsNull(left, column=column))
            return self._made(Not(test, column=column)) if negative else test
        if self._word_at(0) == "not" and self._word_at(1) == "in":
            self._at += 2
            return self._made(Not(self._made(Membership(left, self._sum(), column=column)), column=column))
        if self._take("in"):
            return self._made(Membership(left, self._sum(), column=column))
        return left

    def _sum(self) -> Tree:
        left = self._product()
        while (sign := self._next).kind is TokenKind.SIGN and sign.value in _SUMS:
            self._at += 1
            left = self._made(Arithmetic(_SUMS[str(sign.value)], left, self._product(), column=sign.column))
        return left

    def _product(self) -> Tree:
        left = self._signed()
        while (sign := self._next).kind is TokenKind.SIGN and sign.value in _PRODUCTS:
            self._at += 1
            self._products += sign.value == "*"
            if self._products > MAX_PRODUCTS:
                raise self._too_much(sign.column, f"at most {MAX_PRODUCTS} multiplications")
            left = self._made(Arithmetic(_PRODUCTS[str(sign.value)], left, self._signed(), column=sign.column))
        return left

    def _signed(self) -> Tree:
        column = self._next.column
        if not self._take("-"):
            return self._postfix()
        self._enter()
        operand = self._signed()
        self._brackets -= 1
        match operand:
            case Literal(value=bool()):
                pass
            case Literal(value=int(number) | float(number)):
                return self._made(Literal(-number, column=column))
        return self._made(Negative(operand, column=column))

    def _postfix(self) -> Tree:
        base = self._primary()
        while True:
            column = self._next.column
            if self._take("."):
                name = self._next
                if name.kind not in (TokenKind.NAME, TokenKind.KEYWORD):
                    raise self._unexpected("a field's name")
                self._at += 1
                base = self._made(Item(base, self._made(Literal(name.value, column=name.column)), column=column))
            elif self._take("["):
                key = self._either()
                self._need("]")
                base = self._made(Item(base, key, column=column))
            else:
                return base

    def _primary(self) -> Tree:
        token = self._next
        self._at += 1
        match token.kind:
            case TokenKind.NUMBER | TokenKind.TEXT:
                return self._made(Literal(token.value, column=token.column))
            case TokenKind.KEYWORD if token.value in _WORD_CONSTANTS:
                return self._made(Literal(_WORD_CONSTANTS[str(token.value)], column=token.column))
            case TokenKind.NAME if not token.quoted and self._take("("):
                return self._made(Call(str(token.value), self._listed(")"), column=token.column))
            case TokenKind.NAME:
                return self._made(Field(str(token.value), column=token.column))
            case TokenKind.SIGN if token.value == "(":
                inner = self._either()
                self._need(")")
                return inner
            case TokenKind.SIGN if token.value == "[":
                return self._made(ListOf(self._listed("]"), column=token.column))
        self._at -= 1
        raise self._unexpected("a value")

    def _listed(self, close: str) -> tuple[Tree, ...]:
        """Expressions separated by commas, up to the closing bracket. One comma may trail."""
        items: list[Tree] = []
        while not self._take(close):
            if items:
                self._need(",", or_else=close)
                if self._take(close):
                    break
            items.append(self._either())
        return tuple(items)

    # Tokens.

    @property
    def _next(self) -> Token:
        return self._tokens[min(self._at, len(self._tokens) - 1)]

    def _word_at(self, ahead: int) -> str | None:
        token = self._tokens[min(self._at + ahead, len(self._tokens) - 1)]
        return str(token.value) if token.kind in (TokenKind.SIGN, TokenKind.KEYWORD) else None

    def _take(self, word: str) -> bool:
        """Step over the keyword or sign `word` if it comes next."""
        if self._word_at(0) != word:
            return False
        self._at += 1
        return True

    def _need(self, word: str, *, or_else: str | None = None) -> None:
        if not self._take(word):
            raise self._unexpected(f"'{word}'" + (f" or '{or_else}'" if or_else else ""))

    # Parts and limits.

    def _joined(self, op: str, operands: list[Tree]) -> Tree:
        """One flat `and` or `or` of the operands: `(a and b) and c` is `a and b and c`."""
        if len(operands) == 1:
            return operands[0]
        flat: list[Tree] = []
        for operand in operands:
            flat += operand.operands if isinstance(operand, Logic) and operand.op == op else (operand,)
        return self._made(Logic("and" if op == "and" else "or", tuple(flat), column=operands[0].column))

    def _made(self, part: Tree) -> Tree:
        """The part itself, once it is sure to be within the limits."""
        extents = [self._extents[id(child)] for child in part.children]
        size = 1 + sum(size for size, _ in extents)
        depth = 1 + max((depth for _, depth in extents), default=0)
        if size > MAX_SIZE:
            raise self._too_much(part.column, f"at most {MAX_SIZE} parts")
        if depth > MAX_DEPTH:
            raise self._too_much(part.column, f"at most {MAX_DEPTH} levels")
        self._extents[id(part)] = size, depth
        return part

    def _enter(self) -> None:
        """One bracket (or `not`, or sign) deeper."""
        self._brackets += 1
        if self._brackets > MAX_DEPTH:
            raise self._too_much(self._next.column, f"at most {MAX_DEPTH} levels")

    def _too_much(self, column: int, expected: str) -> ExpressionError:
        message = f"the expression is too large: {expected} are allowed; use several operators"
        return ExpressionError(self._text, [Problem(message, column, expected)])

    def _unexpected(self, expected: str) -> ExpressionError:
        found = self._next
        word = str(found.value)
        nearest = None
        if found.kind is TokenKind.SIGN:
            nearest = FOREIGN_SIGNS.get(word)
        elif found.kind is TokenKind.NAME and not found.quoted:
            nearest = "if(condition, then, else)" if word in ("if", "else") else nearest_word(word, KEYWORDS)
        message = f"expected {expected}, found {found.shown}{did_you_mean(nearest)}"
        return ExpressionError(self._text, [Problem(message, found.column, expected, found.shown, nearest)])
