package offset

// A BuddyFault damages one field of a Buddy made by DamageableBuddy.
type BuddyFault struct {
	Name  string
	Break func(b *Buddy)
}

// DamageableBuddy is a Buddy of 2,047 units of 64 with every kind of unit: live
// blocks of orders 0, 2 and 4, two free blocks linked behind the first of
// order 0, and a block of four units of which the second was freed.
func DamageableBuddy() *Buddy {
	b := NewBuddy(2047*64, 64)
	var at [8]int
	for i := range at {
		at[i] = b.Allocate(60)
	}
	part := b.Allocate(250)
	b.Allocate(200)
	b.Allocate(1000)
	gone := b.Allocate(300)
	for _, r := range []Block{{at[0], at[0] + 60}, {at[2], at[2] + 60}, {at[4], at[4] + 60},
		{part + 64, part + 128}, {part + 10, part + 12}, {gone, gone + 299}, {gone + 299, gone + 300}} {
		if err := b.Free(r.Start, r.Size()); err != nil {
			panic(err)
		}
	}
	return b
}

// BuddyFaults is one damage for each thing that Verify promises to notice.
func BuddyFaults() []BuddyFault {
	unit := func(u uint32, change func(*buddyUnit)) func(*Buddy) {
		return func(b *Buddy) { change(&b.page(u)[u%pageUnits]) }
	}
	linked := func(change func(b *Buddy, first *buddyUnit)) func(*Buddy) {
		return func(b *Buddy) {
			u := b.more[0]
			change(b, &b.page(u)[u%pageUnits])
		}
	}
	// One more block is cut from a larger one, and given back if it says joined.
	cut := func(joined bool, change func(b *Buddy, c *buddyCut)) func(*Buddy) {
		return func(b *Buddy) {
			at := b.Allocate(60)
			for b.cut.to < b.cut.from+2 {
				at = b.Allocate(60)
			}
			if joined && !b.FreeAt(at) {
				panic("no block to free")
			}
			change(b, &b.cut)
		}
	}
	const live, part, wide = 2032, 2036, 2016 // units where such blocks start
	return []BuddyFault{
		{"free bytes, one more", func(b *Buddy) { b.free++ }},
		{"free bytes, a unit less", func(b *Buddy) { b.free -= 64 }},
		{"shift", func(b *Buddy) { b.shift++ }},
		{"units, one more", func(b *Buddy) { b.units++ }},
		{"units, one less", func(b *Buddy) { b.units-- }},
		{"pages", func(b *Buddy) { b.pages = b.pages[:1] }},
		{"page missing", func(b *Buddy) { b.pages[1] = nil }},
		{"order missing", func(b *Buddy) { b.orders &^= 1 }},
		{"order too many", func(b *Buddy) { b.orders |= 1 << 5 }},
		{"order out of range", func(b *Buddy) { b.orders |= 1 << 31 }},
		{"first of an order live", func(b *Buddy) { b.top[0] = live }},
		{"first of an order none", func(b *Buddy) { b.top[0] = noStart }},
		{"first of an order misplaced", func(b *Buddy) { b.top[10]++ }},
		{"further ones lost", func(b *Buddy) { b.more[0] = noStart }},
		{"further ones of an empty order", func(b *Buddy) { b.more[20] = 4 }},
		{"further ones out of range", func(b *Buddy) { b.more[0] = 1 << 20 }},
		{"further ones the first again", func(b *Buddy) { b.more[0] = b.top[0] }},
		{"link to itself", linked(func(b *Buddy, u *buddyUnit) { u.a = b.more[0] })},
		{"link cut", linked(func(_ *Buddy, u *buddyUnit) { u.a = noStart })},
		{"link out of range", linked(func(_ *Buddy, u *buddyUnit) { u.a = 1 << 30 })},
		{"link back", linked(func(_ *Buddy, u *buddyUnit) { u.b = 3 })},
		{"linked block of no kind", linked(func(_ *Buddy, u *buddyUnit) { u.kind = kindNone })},
		{"linked block live", linked(func(_ *Buddy, u *buddyUnit) { u.kind = kindLive })},
		{"linked block of another order", linked(func(_ *Buddy, u *buddyUnit) { u.kind++ })},
		{"live block longer", unit(live, func(u *buddyUnit) { u.a = 65 })},
		{"live block of no length", unit(live, func(u *buddyUnit) { u.a = 0 })},
		{"live block of a high word", unit(live, func(u *buddyUnit) { u.b = 1 })},
		{"live block shorter than half", unit(wide, func(u *buddyUnit) { u.a = 128 })},
		{"live block of another order", unit(wide, func(u *buddyUnit) { u.kind-- })},
		{"live block of an order too high", unit(live, func(u *buddyUnit) { u.kind |= 40 })},
		{"live block of no kind", unit(live, func(u *buddyUnit) { u.kind = kindNone })},
		{"live block of an unknown kind", unit(live, func(u *buddyUnit) { u.kind = 7 << 8 })},
		{"live block in part", unit(live, func(u *buddyUnit) { u.kind = kindPart })},
		{"part made live", unit(part, func(u *buddyUnit) { u.kind = kindLive })},
		{"part of an unknown key", unit(part, func(u *buddyUnit) { u.a = 99 })},
		{"part of a spare key", unit(part, func(u *buddyUnit) { u.a = 1 })},
		{"part with a second word", unit(part, func(u *buddyUnit) { u.b = 1 })},
		{"a kind where no block starts", unit(wide+1, func(u *buddyUnit) { u.kind = kindLive })},
		{"cut of another block", cut(false, func(_ *Buddy, c *buddyCut) { c.unit += 2 })},
		{"cut out of range", cut(false, func(_ *Buddy, c *buddyCut) { c.unit = 1 << 30 })},
		{"cut from a higher order", cut(false, func(_ *Buddy, c *buddyCut) { c.from++ })},
		{"cut to a higher order", cut(false, func(_ *Buddy, c *buddyCut) { c.to++ })},
		{"cut to an order out of range", cut(false, func(_ *Buddy, c *buddyCut) { c.to = maxOrders })},
		{"cut upwards", cut(false, func(_ *Buddy, c *buddyCut) { c.to = 0; c.from = 3 })},
		{"cut joined, half named wrong", cut(true, func(b *Buddy, c *buddyCut) { b.top[c.from]++ })},
		{"cut joined, of another block", cut(true, func(_ *Buddy, c *buddyCut) { c.unit ^= 1 << c.to })},
		{"cut joined, to a higher order", cut(true, func(_ *Buddy, c *buddyCut) { c.to++ })},
		{"cut joined, to a lower order", cut(true, func(_ *Buddy, c *buddyCut) { c.to-- })},
		{"run missing", func(b *Buddy) { b.parts[0] = b.parts[0][:2] }},
		{"run in a freed unit", func(b *Buddy) { b.parts[0][1].End += 64 }},
		{"run behind its blocks", func(b *Buddy) { b.parts[0][2].End += 64 }},
		{"run empty", func(b *Buddy) { b.parts[0][0].End = b.parts[0][0].Start }},
		{"runs touch", func(b *Buddy) { b.parts[0][0].End = b.parts[0][1].Start }},
		{"runs lost", func(b *Buddy) { b.parts[0] = nil }},
		{"spare key lost", func(b *Buddy) { b.spare = nil }},
		{"spare key in use", func(b *Buddy) { b.spare[0] = 0 }},
		{"spare key out of range", func(b *Buddy) { b.spare[0] = 9 }},
	}
}
